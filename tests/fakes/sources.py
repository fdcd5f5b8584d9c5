"""A small source of each language, and the symbols that stand in it."""

PYTHON = '''\
#!/usr/bin/env python
# -*- coding: utf-8 -*-
"""Module."""
import os

LIMIT = 3  # the most

# Shapes of all kinds.
# Two lines.
@final
@dataclass(frozen=True)
class Shape(Base):
    """Doc."""

    sides: int = 0

    # Its area.
    def area(self) -> int:
        scale = 2

        def inner():
            return scale

        return inner()

    class Part:
        async def move(self): ...

if os.name == "nt":
    def home(): return 1
else:
    def home(): return 2

left, right = 1, 2
names: list[str]
'''
PYTHON_SYMBOLS = """\
6 const LIMIT [6-6] LIMIT = 3  # the most
12 class Shape [8-27] class Shape(Base):
15 field Shape.sides [15-15] sides: int = 0
18 method Shape.area [17-24] def area(self) -> int:
21 function Shape.area.inner [21-22] def inner():
26 class Shape.Part [26-27] class Part:
27 method Shape.Part.move [27-27] async def move(self): ...
30 function home [30-30] def home(): return 1
32 function home [32-32] def home(): return 2
34 var left [34-34] left, right = 1, 2
34 var right [34-34] left, right = 1, 2
35 var names [35-35] names: list[str]
"""

TYPESCRIPT = """\
/*! licence */
import { x } from "./x";

/** A shop. */
@Injectable()
export class Shop<T> extends Base {
  #open = false;
  private handler = () => this.open();

  /** Sells. */
  @Log()
  @Trace() sell(item: T): void {
    const local = 1;
    function count() {}
  }

  get size() { return 1; }
}
export default abstract class Plan { abstract run(): void }
export interface Visitor { visit(node: Node): void }
type Id = string | number;
export enum Color { Red, Green }
declare module "legacy" { function load(): void; }
export namespace Outer.Inner { export const depth = 1; }
export const make = async (n: number) => { const deep = 2; }, other = 5;
let mutable = 1;
const { a, b: renamed } = make;
describe("x", () => { const hidden = 1; });
exports.late = function () {};
"""
TYPESCRIPT_SYMBOLS = """\
6 class Shop [4-18] export class Shop<T> extends Base {
7 field Shop.#open [7-7] #open = false;
8 method Shop.handler [8-8] private handler = () => this.open();
12 method Shop.sell [10-15] @Trace() sell(item: T): void {
14 function Shop.sell.count [14-14] function count() {}
17 method Shop.size [17-17] get size() { return 1; }
19 class Plan [19-19] export default abstract class Plan { abstract run(): void }
19 method Plan.run [19-19] export default abstract class Plan { abstract run(): void }
20 interface Visitor [20-20] export interface Visitor { visit(node: Node): void }
20 method Visitor.visit [20-20] export interface Visitor { visit(node: Node): void }
21 type Id [21-21] type Id = string | number;
22 enum Color [22-22] export enum Color { Red, Green }
23 module legacy [23-23] declare module "legacy" { function load(): void; }
23 function legacy.load [23-23] declare module "legacy" { function load(): void; }
24 module Outer.Inner [24-24] export namespace Outer.Inner { export const depth = 1; }
24 const Outer.Inner.depth [24-24] export namespace Outer.Inner { export const depth = 1; }
25 function make [25-25] export const make = async (n: number) => { const deep = 2; }, other = 5;
25 const other [25-25] export const make = async (n: number) => { const deep = 2; }, other = 5;
26 var mutable [26-26] let mutable = 1;
27 var a [27-27] const { a, b: renamed } = make;
27 var renamed [27-27] const { a, b: renamed } = make;
29 function exports.late [29-29] exports.late = function () {};
"""

TSX = """\
export const Button = (props: Props) => <button>{props.text}</button>;

export class View extends Component<Props> {
  render() { return <Button text="a" />; }
}
"""
TSX_SYMBOLS = """\
1 function Button [1-1] export const Button = (props: Props) => <button>{props.text}</button>;
3 class View [3-5] export class View extends Component<Props> {
4 method View.render [4-4] render() { return <Button text="a" />; }
"""

JAVASCRIPT = """\
#!/usr/bin/env node
// Adds.
export function add(a, b) { var sum = a + b; return sum; }
export default class Cart {
  static total = 0;
  go = async () => {};
  @bound
  *items() {}
}
const App = () => <div />;
const tools = { clean() {}, wash: 1 };
var old = 1, older;
function* gen() {}
module.exports.run = () => {};
const Box = class { open() {} };
"""
JAVASCRIPT_SYMBOLS = """\
3 function add [2-3] export function add(a, b) { var sum = a + b; return sum; }
4 class Cart [4-9] export default class Cart {
5 field Cart.total [5-5] static total = 0;
6 method Cart.go [6-6] go = async () => {};
8 method Cart.items [7-8] *items() {}
10 function App [10-10] const App = () => <div />;
11 const tools [11-11] const tools = { clean() {}, wash: 1 };
11 method tools.clean [11-11] const tools = { clean() {}, wash: 1 };
12 var old [12-12] var old = 1, older;
12 var older [12-12] var old = 1, older;
13 function gen [13-13] function* gen() {}
14 function module.exports.run [14-14] module.exports.run = () => {};
15 class Box [15-15] const Box = class { open() {} };
15 method Box.open [15-15] const Box = class { open() {} };
"""

GO = """\
package store

// Most is the most.
const Most = 3

const (
	// Red is a colour.
	Red = iota
	Green
)

var first, second = 1, 2

// Store keeps.
type Store struct {
	size int
}

type (
	Reader interface{ Read() error }
	Names  []string
)

type Alias = Store

// Get gets.
func (s *Store) Get() int {
	var local = 1
	const inner = 2
	return local + inner
}

func (s Pair[K, V]) Key() K { return s.k }

func Sum[T int](a T) T { return a }
"""
GO_SYMBOLS = """\
4 const Most [3-4] const Most = 3
8 const Red [7-8] Red = iota
9 const Green [9-9] Green
12 var first [12-12] var first, second = 1, 2
12 var second [12-12] var first, second = 1, 2
15 struct Store [14-17] type Store struct {
20 interface Reader [20-20] Reader interface{ Read() error }
20 method Reader.Read [20-20] Reader interface{ Read() error }
21 type Names [21-21] Names  []string
24 type Alias [24-24] type Alias = Store
27 method Store.Get [26-31] func (s *Store) Get() int {
33 method Pair.Key [33-33] func (s Pair[K, V]) Key() K { return s.k }
35 function Sum [35-35] func Sum[T int](a T) T { return a }
"""

RUST = """\
//! The crate.
/// A point.
#[derive(Debug)]

#[repr(C)]
pub struct Point<T> { x: T }

pub enum Side { Left, Right }

impl<T: Copy> Point<T> {
    pub const ZERO: i32 = 0;
    /// Makes one.
    pub fn new(x: T) -> Self {
        const HIDDEN: i32 = 1;
        fn helper() {}
        Self { x }
    }
}

impl fmt::Display for Point<i32> {
    fn fmt(&self) -> Result { Ok(()) }
}

pub trait Area { type Unit; fn area(&self) -> f64; }
type Pair = (i32, i32);
static COUNT: i32 = 0;
mod tests {
    #[test]
    fn works() {}
}
macro_rules! twice { () => {} }
"""
RUST_SYMBOLS = """\
6 struct Point [2-6] pub struct Point<T> { x: T }
8 enum Side [8-8] pub enum Side { Left, Right }
11 const Point.ZERO [11-11] pub const ZERO: i32 = 0;
13 method Point.new [12-17] pub fn new(x: T) -> Self {
15 function Point.new.helper [15-15] fn helper() {}
21 method Point.fmt [21-21] fn fmt(&self) -> Result { Ok(()) }
24 trait Area [24-24] pub trait Area { type Unit; fn area(&self) -> f64; }
24 type Area.Unit [24-24] pub trait Area { type Unit; fn area(&self) -> f64; }
24 method Area.area [24-24] pub trait Area { type Unit; fn area(&self) -> f64; }
25 type Pair [25-25] type Pair = (i32, i32);
26 const COUNT [26-26] static COUNT: i32 = 0;
27 module tests [27-30] mod tests {
29 function tests.works [28-29] fn works() {}
31 macro twice [31-31] macro_rules! twice { () => {} }
"""

JAVA = """\
package shop;

/** A cart. */
@Entity
public class Cart<T> implements Box {
    private static final int MOST = 3;
    int a = 1, b;

    public Cart() {}

    /** Adds. */
    @Override
    public <R> void add(R item) {
        int local = 1;
        Runnable r = () -> { int deep = 2; };
        new Object() { int hidden; void inner() {} };
    }

    enum Size { SMALL, LARGE; int width() { return 1; } }

    record Pair(int x, int y) { Pair {} }
}

interface Box { int LIMIT = 1; void open(); }
@interface Tag { String value(); }
"""
JAVA_SYMBOLS = """\
5 class Cart [3-22] public class Cart<T> implements Box {
6 field Cart.MOST [6-6] private static final int MOST = 3;
7 field Cart.a [7-7] int a = 1, b;
7 field Cart.b [7-7] int a = 1, b;
9 constructor Cart.Cart [9-9] public Cart() {}
13 method Cart.add [11-17] public <R> void add(R item) {
16 method Cart.add.inner [16-16] new Object() { int hidden; void inner() {} };
19 enum Cart.Size [19-19] enum Size { SMALL, LARGE; int width() { return 1; } }
19 method Cart.Size.width [19-19] enum Size { SMALL, LARGE; int width() { return 1; } }
21 record Cart.Pair [21-21] record Pair(int x, int y) { Pair {} }
21 constructor Cart.Pair.Pair [21-21] record Pair(int x, int y) { Pair {} }
24 interface Box [24-24] interface Box { int LIMIT = 1; void open(); }
24 const Box.LIMIT [24-24] interface Box { int LIMIT = 1; void open(); }
24 method Box.open [24-24] interface Box { int LIMIT = 1; void open(); }
25 interface Tag [25-25] @interface Tag { String value(); }
25 method Tag.value [25-25] @interface Tag { String value(); }
"""

SOURCES = {
    "a.py": (PYTHON, PYTHON_SYMBOLS),
    "a.ts": (TYPESCRIPT, TYPESCRIPT_SYMBOLS),
    "a.tsx": (TSX, TSX_SYMBOLS),
    "a.jsx": (JAVASCRIPT, JAVASCRIPT_SYMBOLS),
    "a.go": (GO, GO_SYMBOLS),
    "a.rs": (RUST, RUST_SYMBOLS),
    "a.java": (JAVA, JAVA_SYMBOLS),
}
"""By file name: the text, and a line `line kind full.name [first-last] signature` for each."""
