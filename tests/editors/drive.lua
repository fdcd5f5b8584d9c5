-- Drives the commands of docs/editors.md in a real Neovim and writes what the user was shown.
local PATIENCE_MS = 15000
local report = { said = {}, asked = {} }
local answers = {}

vim.notify = function(text, level)
  table.insert(report.said, { text = text, level = level or vim.log.levels.INFO })
end

vim.ui.select = function(items, options, choose)
  table.insert(report.asked, options.prompt)
  local wanted = table.remove(answers, 1)
  for _, item in ipairs(items) do
    if item.title == wanted then
      return choose(item)
    end
  end
  choose(nil)
end

local function until_true(what, ready)
  assert(vim.wait(PATIENCE_MS, ready, 10), "never: " .. what)
end

local function said(count)
  until_true(count .. " notifications", function()
    return #report.said >= count
  end)
end

local function drive()
  until_true("an attached client", function()
    return vim.lsp.get_clients({ bufnr = 0, name = "reasonix" })[1] ~= nil
  end)

  -- A whole turn: its approval is closed, shown again and answered.
  answers = { "nothing", "Allow once" }
  vim.cmd("ReasonixAsk change a.py")
  until_true("a popup", function()
    return #report.asked == 1
  end)
  vim.cmd("ReasonixPending")
  said(1)
  report.buffer = vim.api.nvim_buf_get_lines(0, 0, -1, false)

  -- A failed turn, in the same session.
  vim.cmd("ReasonixAsk go on")
  said(2)

  -- A session of its own.
  vim.cmd("ReasonixAsk! start over")
  said(3)

  -- A turn that is cancelled.
  vim.cmd("ReasonixAsk take your time")
  until_true("progress in the statusline", function()
    return vim.api.nvim_eval_statusline(vim.o.statusline, {}).str:find("take your time") ~= nil
  end)
  vim.cmd("ReasonixCancel")
  said(4)
  until_true("an empty statusline", function()
    return vim.api.nvim_eval_statusline(vim.o.statusline, {}).str:find("take your time") == nil
  end)
  report.messages = vim.fn.execute("messages")
end

local ok, fault = xpcall(drive, debug.traceback)
if not ok then
  report.fault = fault
end
vim.fn.writefile({ vim.json.encode(report) }, vim.env.REPORT)
vim.cmd("qall!")
