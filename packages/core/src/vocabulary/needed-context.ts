/** The context that an agent needs, from the schemas that its tools and middleware declare. */

import type { StandardSchemaV1 } from '@standard-schema/spec'

/** A tool or a middleware that declares a part of the context. */
interface Declares<Given> {
  readonly context: { readonly '~standard': { readonly types?: { readonly input: Given } | undefined } }
}

/** The member of a tool that declares this context. */
export type DeclaredContext<Context> = unknown extends Context
  ? unknown
  : { readonly context: StandardSchemaV1<Context> }

/** The context that all of these tools and middleware need together; `unknown` if none is declared. */
export type ContextOf<One> = (One extends Declares<infer Given> ? (given: Given) => void : never) extends (
  given: infer All,
) => void
  ? All
  : unknown

/** The last arguments of a run: those in `Before`, and the options, which must contain the context if the agent needs one. */
export type RunArguments<Options, Context, Before extends readonly unknown[] = []> = unknown extends Context
  ? [...Partial<Before>, options?: Options]
  : [...Before, options: Options & { readonly context: Context }]
