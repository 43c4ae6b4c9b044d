/** The replacements for functions of LangChain in its tests. */

import { type Added, listeners, pause, reads, type SpliceSettings } from './wraps.ts'

interface Options {
  readonly model?: unknown
  readonly tools?: readonly unknown[]
}

type CreateAgent = (options: Options) => unknown

export function wraps({ eager }: Added, settings: SpliceSettings) {
  function spliced(options: Options): Options {
    if (settings.paced) pace(options.model)
    const names = namesOf(options)
    if (!eager || names.length === 0) return options
    return eager(options, reads(names), listeners(settings))
  }
  return {
    createAgent:
      (plain: CreateAgent): CreateAgent =>
      (options) =>
        plain(spliced(options)),
  }
}

/** The names of the tools that have a function; tools of a provider have none. */
function namesOf({ tools }: Options): readonly string[] {
  if (!Array.isArray(tools)) return []
  return tools.flatMap((tool: unknown) =>
    typeof tool === 'object' && tool !== null && 'invoke' in tool && 'name' in tool ? [String(tool.name)] : [],
  )
}

interface Model {
  _generate(messages: unknown, options: unknown, callbacks?: Callbacks): Promise<Result>
}

interface Callbacks {
  handleLLMNewToken(token: string, ...rest: readonly unknown[]): Promise<void>
}

interface Result {
  readonly generations: readonly { readonly message: { readonly tool_calls?: readonly ToolCall[] } }[]
}

interface ToolCall {
  readonly id?: string
  readonly name: string
  readonly args: unknown
}

const paced = new WeakSet<object>()

/** Makes the model report its calls piece by piece, like a model that streams. Models that it binds have the same class. */
function pace(model: unknown): void {
  const owner = ownerOf(model)
  if (!owner || paced.has(owner)) return
  paced.add(owner)
  const { _generate } = owner
  owner._generate = async function (this: Model, messages, options, callbacks) {
    const result = await _generate.call(this, messages, options, callbacks)
    for (const piece of pieces(result)) {
      await pause()
      await callbacks?.handleLLMNewToken('', undefined, undefined, undefined, undefined, { chunk: piece })
    }
    await pause()
    return result
  }
}

/** The model or the prototype that has its own `_generate`. */
function ownerOf(model: unknown): Model | undefined {
  for (let at = model; typeof at === 'object' && at !== null; at = Object.getPrototypeOf(at))
    if (Object.hasOwn(at, '_generate')) return at as Model
  return undefined
}

/** The chunks for the calls of a response. */
function pieces({ generations }: Result): readonly object[] {
  return (generations[0]?.message.tool_calls ?? []).flatMap(({ id, name, args }, index) => {
    const text = JSON.stringify(args) ?? ''
    const half = Math.ceil(text.length / 2)
    return [{ id, name }, { args: text.slice(0, half) }, { args: text.slice(half) }].map((piece) => ({
      message: { tool_call_chunks: [{ index, ...piece }] },
    }))
  })
}
