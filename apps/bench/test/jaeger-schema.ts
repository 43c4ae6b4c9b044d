/** What a file of traces has that the query service of Jaeger would not answer, by the schema in `test-data`. */

import { readFileSync } from 'node:fs'
import { z } from 'zod'

const schema = z.fromJSONSchema(
  JSON.parse(readFileSync(new URL('../test-data/jaeger-traces.schema.json', import.meta.url), 'utf8')),
)

/** The places of what is wrong. */
export function jaegerProblems(text: string): readonly string[] {
  const { error } = schema.safeParse(JSON.parse(text))
  return error?.issues.map(({ path }) => path.join('.')) ?? []
}
