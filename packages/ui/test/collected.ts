export async function collected<Value>(values: ReadableStream<Value>): Promise<Value[]> {
  const all: Value[] = []
  for await (const value of values) all.push(value)
  return all
}

export async function* fromList<Value>(values: readonly Value[]): AsyncGenerator<Value, void> {
  yield* values
}
