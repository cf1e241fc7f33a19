/** Reads the weights of Silero VAD for 8 kHz out of its ONNX file, by the names they have there. Pure. */

/** What the network is made of: values by their names in the file. */
export type Weights = ReadonlyMap<string, Float32Array>;

/** A protocol buffer's wire types, and the fields of ONNX (onnx.proto) that lead to a tensor. */
const [VARINT, EIGHT_BYTES, LENGTH, FOUR_BYTES] = [0, 1, 2, 5];
const MODEL = { graph: 7 };
const GRAPH = { node: 1, initializer: 5 };
const NODE = { attribute: 5 };
const ATTRIBUTE = { name: 1, tensor: 5, graph: 6 };
const TENSOR = { type: 2, name: 8, raw: 9 };
const FLOAT = 1;
const FLOAT_BYTES = 4;
/** The branch for 8 kHz, as the model's `If` on the rate names it. */
const BRANCH = "else_branch";
const PREFIX = /^If_0_else_branch__Inline_0__/;

interface Field {
  readonly number: number;
  /** Of a number. */
  readonly value: number;
  /** Of text, bytes or a message. */
  readonly bytes: Uint8Array;
}

const NOTHING = new Uint8Array(0);
const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

function varint(bytes: Uint8Array, at: number): { value: number; next: number } {
  let [value, scale, next] = [0, 1, at];
  for (;;) {
    const byte = bytes[next++];
    if (byte === undefined) throw new RangeError("the model's file is cut");
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) return { value, next };
    scale *= 0x80;
  }
}

/** Bytes of what says no length. */
const FIXED: Readonly<Record<number, number>> = { [EIGHT_BYTES]: 8, [FOUR_BYTES]: 4 };

/** The fields of a message in their order; throws where it is none. */
function* fieldsOf(message: Uint8Array): Generator<Field> {
  for (let at = 0; at < message.length;) {
    const key = varint(message, at);
    const [number, type] = [Math.floor(key.value / 8), key.value % 8];
    if (type === VARINT) {
      const { value, next } = varint(message, key.next);
      at = next;
      yield { number, value, bytes: NOTHING };
      continue;
    }
    const sized = type === LENGTH ? varint(message, key.next) : { value: FIXED[type], next: key.next };
    if (sized.value === undefined) throw new RangeError("the model's file can't be read");
    at = sized.next + sized.value;
    yield { number, value: 0, bytes: message.subarray(sized.next, at) };
  }
}
function tensorOf(message: Uint8Array): { name: string; values: Float32Array | null } {
  let [name, type] = ["", 0];
  let raw: Uint8Array = NOTHING;
  for (const { number, value, bytes } of fieldsOf(message)) {
    if (number === TENSOR.type) type = value;
    if (number === TENSOR.name) name = textOf(bytes);
    if (number === TENSOR.raw) raw = bytes;
  }
  if (type !== FLOAT) return { name, values: null };
  const view = new DataView(raw.buffer, raw.byteOffset, raw.byteLength);
  const count = raw.byteLength / FLOAT_BYTES;
  return { name, values: Float32Array.from({ length: count }, (_, n) => view.getFloat32(n * FLOAT_BYTES, true)) };
}

/** Puts the tensors of a graph into a map, and those of the branch for 8 kHz. */
function collect(graph: Uint8Array, weights: Map<string, Float32Array>): void {
  const keep = (message: Uint8Array): void => {
    const { name, values } = tensorOf(message);
    if (values) weights.set(name.replace(PREFIX, ""), values);
  };
  for (const part of fieldsOf(graph)) {
    if (part.number === GRAPH.initializer) keep(part.bytes);
    if (part.number !== GRAPH.node) continue;
    for (const attribute of fieldsOf(part.bytes)) {
      if (attribute.number !== NODE.attribute) continue;
      const fields = [...fieldsOf(attribute.bytes)];
      const name = textOf(fields.find(({ number }) => number === ATTRIBUTE.name)?.bytes ?? NOTHING);
      for (const { number, bytes } of fields) {
        if (number === ATTRIBUTE.tensor) keep(bytes);
        if (number === ATTRIBUTE.graph && name === BRANCH) collect(bytes, weights);
      }
    }
  }
}

/** The weights in a model's file; throws RangeError where it is none. */
export function weightsIn(file: Uint8Array): Weights {
  const weights = new Map<string, Float32Array>();
  for (const { number, bytes } of fieldsOf(file)) if (number === MODEL.graph) collect(bytes, weights);
  return weights;
}
