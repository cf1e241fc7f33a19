import { StoreError } from "../bson/errors.ts";
import { ACCUMULATING } from "./accumulators.ts";
import { ARITHMETIC } from "./arithmetic-operators.ts";
import { ARRAYS } from "./array-operators.ts";
import { CONVERTING } from "./conversion-operators.ts";
import { DATES } from "./date-operators.ts";
import { LOGIC } from "./logic-operators.ts";
import { OBJECTS } from "./object-operators.ts";
import { elsewhere, type Operator } from "./operator.ts";
import { STRINGS } from "./string-operators.ts";

/** The expression operators of the embedded store. README's list is compared with it, and each has a test. */
export const EXPRESSIONS: ReadonlyMap<string, Operator> = new Map(
  [LOGIC, ARITHMETIC, ACCUMULATING, ARRAYS, OBJECTS, STRINGS, CONVERTING, DATES].flatMap((table) =>
    Object.entries(table),
  ),
);

/** What MongoDB has and the embedded store has not: expressions, accumulators, window functions. */
const ELSEWHERE = new Set(
  `$accumulator $acos $acosh $allElementsTrue $anyElementTrue $asin $asinh $atan $atan2 $atanh $binarySize $bitAnd $bitNot $bitOr
  $bitXor $bottom $bottomN $bsonSize $concatArrays $cos $cosh $covariancePop $covarianceSamp $createObjectId $dateAdd $dateDiff
  $dateFromParts $dateFromString $dateSubtract $dateToParts $dateTrunc $degreesToRadians $denseRank $derivative $documentNumber
  $exp $expMovingAvg $firstN $function $hash $hexHash $indexOfBytes $integral $isoDayOfWeek $lastN $linearFill $ln $locf $log
  $log10 $maxN $median $meta $minN $minMaxScaler $percentile $pow $radiansToDegrees $rand $rank $regexFind $regexFindAll
  $regexMatch $sampleRate $setUnion $shift $sigmoid $sin $sinh $sortArray $sqrt $stdDevPop $stdDevSamp $strcasecmp $substr
  $substrBytes $tan $tanh $toArray $toHashedIndexKey $toObject $toUUID $top $topN $tsIncrement $tsSecond $zip`.split(
    /\s+/u,
  ),
);

/** Why there is no such expression operator: CommandNotSupported when MongoDB has it, else 168. */
export function refusedExpression(name: string): StoreError {
  return ELSEWHERE.has(name)
    ? elsewhere(name)
    : new StoreError("InvalidPipelineOperator", `Unrecognized expression '${name}'`);
}

/** Why there is no such accumulator: CommandNotSupported when MongoDB has it, else 15952. */
export function refusedAccumulator(name: string): StoreError {
  return ELSEWHERE.has(name) ? elsewhere(name) : new StoreError(15952, `unknown group operator '${name}'`);
}
