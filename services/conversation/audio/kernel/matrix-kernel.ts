/**
 * Multiplies a matrix with four vectors at once, in WebAssembly with SIMD: each weight is read once for four calls. Assembled here, for it is one loop in another; codes as in the
 * WebAssembly specification, section 5.4. Pure.
 */

/** Vectors that are multiplied at once. */
export const LANES = 4;
/** Floats that are multiplied at once: columns are padded with zeros to a multiple of it. */
export const VECTOR = 4;
/** Bytes of a float. */
export const FLOAT_BYTES = 4;

const PAGE = 65_536;

/** What is used of it; the types of Node leave it out. */
declare const WebAssembly: {
  Memory: new (size: { initial: number }) => { readonly buffer: ArrayBuffer };
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object, imports: object) => { readonly exports: { readonly multiply: MultiplyRows } };
};

/** Adds to each of the four `y` the product of the matrix (`rows` rows, one after the other) and its `x`. Addresses and distances between vectors in bytes. */
export type MultiplyRows = (
  matrix: number,
  x: number,
  y: number,
  rows: number,
  rowBytes: number,
  xDistance: number,
  yDistance: number,
) => void;

// locals: the seven parameters, then pointers into the four x and their end, the four sums, the weights, and a pointer into the y
const [MATRIX, X, Y, ROWS, ROW_BYTES, X_DISTANCE, Y_DISTANCE] = [0, 1, 2, 3, 4, 5, 6];
const AT = [7, 8, 9, 10];
const END = 11;
const SUMS = [12, 13, 14, 15];
const WEIGHTS = 16;
const OUT = 17;

const [I32, V128, NOTHING] = [0x7f, 0x7b, 0x40];
const [LOOP, AGAIN, BLOCK_END] = [[0x03, NOTHING], [0x0d, 0], [0x0b]];
const [ADD, SUBTRACT, LESS] = [[0x6a], [0x6b], [0x49]];
const get = (local: number): number[] => [0x20, local];
const set = (local: number): number[] => [0x21, local];
const constant = (value: number): number[] => [0x41, value];
const moved = (local: number, by: number[]): number[] => [...get(local), ...by, ...ADD, ...set(local)];
const loop = (body: readonly number[], again: readonly number[]): number[] => [
  ...LOOP,
  ...body,
  ...again,
  ...AGAIN,
  ...BLOCK_END,
];

const [LOAD, STORE, PLUS] = [[0x2a, 2, 0], [0x38, 2, 0], [0x92]];
const VECTOR_LOAD = [0xfd, 0x00, 0, 0];
const VECTOR_MULTIPLY = [0xfd, 0xe6, 0x01];
const VECTOR_PLUS = [0xfd, 0xe4, 0x01];
const NO_SUM = [0x43, 0, 0, 0, 0, 0xfd, 0x13];
const floatOf = (sum: number, n: number): number[] => [...get(sum), 0xfd, 0x1f, n];

/** The pointers at the beginning of each x, and the sums at zero. */
const BEGIN_ROW = [
  ...get(X),
  ...AT.flatMap((at, n) => [...set(at), ...(n === LANES - 1 ? [] : [...get(at), ...get(X_DISTANCE), ...ADD])]),
  ...get(X),
  ...get(ROW_BYTES),
  ...ADD,
  ...set(END),
  ...SUMS.flatMap((sum) => [...NO_SUM, ...set(sum)]),
];
/** Four columns of the row with each x. */
const COLUMNS = [
  ...get(MATRIX),
  ...VECTOR_LOAD,
  ...set(WEIGHTS),
  ...SUMS.flatMap((sum, n) => [
    ...get(sum),
    ...get(WEIGHTS),
    ...get(AT[n] ?? 0),
    ...VECTOR_LOAD,
    ...VECTOR_MULTIPLY,
    ...VECTOR_PLUS,
    ...set(sum),
  ]),
  ...[MATRIX, ...AT].flatMap((local) => moved(local, constant(VECTOR * FLOAT_BYTES))),
];
/** Each sum is added to what is in its y. */
const END_ROW = [
  ...get(Y),
  ...set(OUT),
  ...SUMS.flatMap((sum) => [
    ...get(OUT),
    ...get(OUT),
    ...LOAD,
    ...[0, 1, 2, 3].flatMap((n) => [...floatOf(sum, n), ...PLUS]),
    ...STORE,
    ...moved(OUT, get(Y_DISTANCE)),
  ]),
  ...moved(Y, constant(FLOAT_BYTES)),
];
const COUNT_ROW = [...get(ROWS), ...constant(1), ...SUBTRACT, ...set(ROWS)];
const ROW = [...BEGIN_ROW, ...loop(COLUMNS, [...get(AT[0] ?? 0), ...get(END), ...LESS]), ...END_ROW, ...COUNT_ROW];

const sized = (bytes: readonly number[]): number[] => [(bytes.length & 0x7f) | 0x80, bytes.length >> 7, ...bytes];
const section = (id: number, ...bytes: number[]): number[] => [id, ...sized(bytes)];
const name = (text: string): number[] => [text.length, ...new TextEncoder().encode(text)];
const PARAMETERS = Array.from({ length: 7 }, () => I32);
const LOCALS = [4, 5, I32, 4, V128, 1, V128, 1, I32];

/** The module: it takes its memory as `of.memory` and gives `multiply`. */
const MODULE = [
  ...new TextEncoder().encode("\0asm\u0001\0\0\0"),
  ...section(1, 1, 0x60, PARAMETERS.length, ...PARAMETERS, 0),
  ...section(2, 1, ...name("of"), ...name("memory"), 2, 0, 1),
  ...section(3, 1, 0),
  ...section(7, 1, ...name("multiply"), 0, 0),
  ...section(10, 1, ...sized([...LOCALS, ...loop(ROW, get(ROWS)), ...BLOCK_END])),
];

/** Memory of so many bytes, and the multiplication in it. Throws where there is no WebAssembly with SIMD. */
export function matrixKernel(bytes: number): { memory: ArrayBuffer; multiply: MultiplyRows } {
  const memory = new WebAssembly.Memory({ initial: Math.ceil(bytes / PAGE) });
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(Uint8Array.from(MODULE)), { of: { memory } });
  return { memory: memory.buffer, multiply: exports.multiply };
}
