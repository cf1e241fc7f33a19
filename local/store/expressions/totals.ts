import { Decimal128, Long } from "bson";
import type { Numeric } from "../bson/arithmetic.ts";
import { primitiveNumber } from "../bson/comparison.ts";
import { doubleValue, integerValue, isInt32 } from "../bson/values.ts";
import type { Value } from "../bson/values.ts";
import { asDecimal, combinedDecimals, divideDecimals, exactDecimal, isDouble } from "./decimals.ts";

const TWO_32 = 2 ** 32;

/** A sum with MongoDB's result types. Doubles are added as pairs of doubles, so that the order does not matter and no digit is lost. */
export class Total {
  #high = 0;
  #low = 0;
  #decimal: Decimal128 | undefined;
  /** The widest type so far: 0 int32, 1 int64, 2 double. */
  #width: 0 | 1 | 2 = 0;
  count = 0;

  add(v: Numeric): void {
    this.count++;
    if (v instanceof Decimal128) {
      this.#decimal = this.#decimal === undefined ? v : combinedDecimals("add", this.#decimal, v);
    } else if (v instanceof Long) {
      this.#width = this.#width === 2 ? 2 : 1;
      this.#plus(v.getHighBits() * TWO_32);
      this.#plus(v.getLowBitsUnsigned());
    } else {
      if (isDouble(v)) this.#width = 2;
      this.#plus(Number(primitiveNumber(v)));
    }
  }

  /** Knuth's sum without loss: what the rounded sum leaves out goes to the low part. */
  #plus(n: number): void {
    const sum = this.#high + n;
    const part = sum - this.#high;
    const left = this.#high - (sum - part) + (n - part);
    this.#high = sum;
    if (Number.isFinite(left)) this.#low += left;
  }

  #plain(): Numeric {
    const sum = Number.isFinite(this.#high) ? this.#high + this.#low : this.#high;
    if (this.#width === 2) return doubleValue(sum);
    if (this.#width === 0 && this.#low === 0 && isInt32(sum)) return sum;
    const exact = BigInt(this.#high) + BigInt(this.#low);
    const whole = integerValue(exact);
    if (whole === undefined) return doubleValue(sum);
    return typeof whole === "number" && this.#width === 1 ? Long.fromNumber(whole) : whole;
  }

  /** The sum: a decimal when there was one (`decimal` makes one of the other numbers), a double when there was one or when 64 bits are not enough. */
  sum(decimal: (v: Numeric) => Decimal128 = exactDecimal): Numeric {
    const plain = this.#plain();
    if (this.#decimal === undefined) return plain;
    return combinedDecimals("add", this.#decimal, decimal(plain));
  }

  /** The mean, null of nothing. */
  mean(): Value {
    if (this.count === 0) return null;
    if (this.#decimal !== undefined) return divideDecimals(asDecimal(this.sum()), asDecimal(this.count));
    const sum = Number.isFinite(this.#high) ? this.#high + this.#low : this.#high;
    return doubleValue(sum / this.count);
  }
}
