/** Options of an index that has the documents with this field alone. */
export const whenPresent = (field: string) => ({ partialFilterExpression: { [field]: { $exists: true } } });

/** Options of an index that has the documents alone in which something stands in this field. */
export const whenText = (field: string) => ({ partialFilterExpression: { [field]: { $gt: "" } } });
