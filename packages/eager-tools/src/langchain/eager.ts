/** `eager()` for LangChain: early tool calls in `createAgent` and `createDeepAgent`. */

import { ConfigError } from '@meanwhile/core'
import { type DeclaredEffect, declaredEffects } from '../host/declared.ts'
import { EagerLoop } from '../host/eager-loop.ts'
import type { EagerSettings } from '../host/settings.ts'
import { checkNames } from '../unknown-names.ts'
import { EagerAgent, EagerAgents, type OwnOptions } from './eager-agent.ts'
import { type AgentOptions, isAgentTool, isObject, isSubagent, namesOf, type Subagent } from './library.ts'

/** By tool name: what a call of the tool changes outside the program. Tools that are not listed stay unchanged. */
export type Effects<Options> = Options extends { readonly tools: readonly (infer Tool)[] }
  ? {
      readonly [Name in Extract<Tool, Named>['name']]?: DeclaredEffect<InputOf<Extract<Tool, { readonly name: Name }>>>
    }
  : object

interface Named {
  readonly name: string
}

interface GivenOptions {
  readonly model?: unknown
  readonly tools?: unknown
  /** Only agents have this method. */
  readonly invoke?: never
}

/** The input that the tool's function receives. */
type InputOf<Tool> = Tool extends { func(input: infer Input, ...rest: never): unknown } ? Input : never

/**
 * Returns the same options, changed so that declared tools start while the model is still streaming:
 *
 * ```ts
 * const agent = createAgent(eager({ model, tools: [weather, book] }, { weather: 'read' }))
 * ```
 *
 * `createDeepAgent` works in the same way: tools that its `interruptOn` guards never start early, and subagents that it
 * creates are included.
 *
 * The caller gets the same results, and tools that are not declared execute just as often. A `read` may execute once
 * more if its result is not used. Declare only tools whose result depends on their input, `context`, `store` and the
 * state at the model's node: a tool that reads the messages of the state, or uses `writer` or `interrupt`, is executed by
 * the agent, and starts early no more. With `humanInTheLoopMiddleware`, `toolCallLimitMiddleware` or
 * `toolEmulatorMiddleware` nothing starts early unless `approval` names the tools that they may prevent. If something else
 * prevents a call that has started early, its tool starts early no more, with a warning.
 *
 * The model streams if the agent streams, if the model is configured to stream, or with `alwaysStream`. If the model is
 * given as a string, a middleware has to be added to observe it, and that wraps the errors of the model: pass a model
 * object.
 *
 * @throws {ConfigError} A tool, an effect or a setting does not exist, or the options are an agent or those of
 * `createReactAgent`.
 */
export function eager<Options extends GivenOptions, const Middleware extends readonly unknown[] = readonly []>(
  // A tuple, so that the agent's state is inferred from each middleware.
  options: Options & { readonly middleware?: Middleware },
  effects: Effects<Options>,
  settings: EagerSettings = {},
): Options {
  if (!isObject(options)) throw new ConfigError('options', 'must be an object: createAgent(eager({ … }, { … }))')
  if ('invoke' in options)
    throw new ConfigError('options', 'is an agent; pass its options: createAgent(eager({ … }, { … }))')
  if ('llm' in options)
    throw new ConfigError(
      'llm',
      'is an option of createReactAgent, whose loop eager() does not know; use createAgent with `model`',
    )
  const given = options as AgentOptions
  if (given.tools && !Array.isArray(given.tools))
    throw new ConfigError('tools', 'must be a list of tools, such as [weather]')
  const loop = new EagerLoop(settings, 'langchain 1.5')
  const changed = changes(given, effects, loop)
  return changed ? { ...options, ...changed } : options
}

/** The changed options; `undefined` if nothing may start early. */
function changes(options: AgentOptions, effects: object, loop: EagerLoop): AgentOptions | undefined {
  const { subagents = [], ...own } = options
  const created = subagents.filter(isSubagent)
  const declared = declaredEffects(effects, loop.settings.mayBeMissing ? undefined : toolsOf([own, ...created]))
  checkNames(loop.settings, [...toolsOf([own, ...created]), ...toolsOfMiddleware([own, ...created])])
  if (declared.size === 0) return undefined
  const all = new EagerAgents(declared, loop)
  const main = new EagerAgent(all, { ...own, called: '' })
  const inner = new Map(created.map((one) => [one, new EagerAgent(all, withDefaults(one, own))]))
  if (![main, ...inner.values()].some(({ mayStart }) => mayStart)) return undefined
  const changed = subagents.map((one) => (isSubagent(one) ? { ...one, ...inner.get(one)?.changes(one) } : one))
  return { ...main.changes(own), ...(options.subagents && { subagents: changed }) }
}

/** A subagent gets from its deep agent what it lacks. */
function withDefaults(one: Subagent, { model, tools, middleware = [], interruptOn }: AgentOptions): OwnOptions {
  return {
    model: one.model ?? model,
    tools: one.tools ?? tools,
    middleware: [...(one.mode === 'fork' ? middleware : []), ...(one.middleware ?? [])],
    interruptOn: one.interruptOn ?? interruptOn,
    called: `of the subagent ${one.name} `,
  }
}

function toolsOf(agents: readonly AgentOptions[]): readonly string[] {
  return agents.flatMap(({ tools = [] }) => namesOf(tools.filter(isAgentTool)))
}

function toolsOfMiddleware(agents: readonly AgentOptions[]): readonly string[] {
  return agents.flatMap(({ middleware = [] }) => namesOf(middleware.flatMap((one) => one.tools ?? [])))
}
