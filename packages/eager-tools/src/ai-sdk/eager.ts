/** `eager()` for the AI SDK: early tool calls in `streamText`, `generateText` and `ToolLoopAgent`. */

import { ConfigError } from '@meanwhile/core'
import {
  type InferToolInput,
  type InferToolOutput,
  type OutputInterface,
  type Prompt,
  type streamText,
  type Tool,
  ToolLoopAgent,
  type ToolLoopAgentSettings,
  type ToolSet,
} from 'ai'
import { type DeclaredCall, type DeclaredEffect, declaredEffects } from '../host/declared.ts'
import { EagerLoop } from '../host/eager-loop.ts'
import type { EagerSettings } from '../host/settings.ts'
import { checkNames } from '../unknown-names.ts'
import { EagerOptions } from './eager-options.ts'
import type { SdkOptions } from './sdk.ts'

/** By tool name: what a call of the tool changes outside the program. Tools that are not listed stay unchanged. */
export type Effects<Options extends { readonly tools?: object }> = {
  readonly [Name in keyof NonNullable<Options['tools']>]?: EffectOf<NonNullable<Options['tools']>[Name]>
}

// Written out, so that the compiler's error lists the effects.
type EffectOf<One> = [One] extends [Tool]
  ? 'read' | 'idempotent' | 'external' | DeclaredCall<InferToolInput<One>, InferToolOutput<One>>
  : DeclaredEffect

/** The options of `streamText`. `generateText` accepts them, too. */
type TextOptions<Tools extends ToolSet, Context extends AnyContext, Out extends OutputInterface> = Parameters<
  typeof streamText<Tools, Context, Out>
>[0]

/** The same with a prompt or messages, of the one kind that was given, so that a request can replace it. */
type AskedOptions<Tools extends ToolSet, Context extends AnyContext, Out extends OutputInterface, Asked> = Omit<
  TextOptions<Tools, Context, Out>,
  'prompt' | 'messages'
> &
  Asked & { readonly tools: Tools }

/**
 * The options of an agent. Its callbacks that receive the output have no type here: it would only fit an agent, and
 * not a request into which the options are spread.
 */
type AgentOptions<
  Call,
  Tools extends ToolSet,
  Context extends AnyContext,
  Out extends OutputInterface,
> = ToolLoopAgentSettings<Call, Tools, Context, Out> & { readonly tools: Tools } & {
  readonly [Name in ToldOutput]?: never
}

type ToldOutput = 'onStart' | 'experimental_onStart' | 'onStepStart' | 'experimental_onStepStart' | 'onStepError'

interface WithPrompt {
  readonly prompt: Exclude<Prompt['prompt'], undefined>
}

interface WithMessages {
  readonly messages: Exclude<Prompt['messages'], undefined>
}

/**
 * Options whose tools have no names in the type. For all other options the overloads with the types of the SDK apply.
 */
type IfUnnamed<Options extends { readonly tools?: object }> = string extends keyof NonNullable<Options['tools']>
  ? unknown
  : never

type AnyContext = NonNullable<ToolLoopAgentSettings['runtimeContext']>

/**
 * Returns the same options, changed so that declared tools start while the model is still streaming:
 *
 * ```ts
 * const result = streamText(eager({ model, tools: { weather, book }, prompt }, { weather: 'read' }))
 * ```
 *
 * The caller gets the same results, and tools that are not declared execute just as often. A `read` may execute once
 * more if its response is not accepted; that result is dropped. Never early: tools with an approval, a refinement of
 * their input or `onInputAvailable`, and calls whose input the tool's schema rejects.
 *
 * @throws {ConfigError} A tool, an effect or a setting does not exist, or the options are an agent.
 */
export function eager<
  Tools extends ToolSet,
  Context extends AnyContext = AnyContext,
  Out extends OutputInterface = OutputInterface<string, string, never>,
>(
  options: TextOptions<Tools, Context, Out> & WithPrompt,
  effects: NoInfer<Effects<{ readonly tools: Tools }>>,
  settings?: EagerSettings,
  // Without `NoInfer`, the type expected from the call would widen the tool names to `string`.
): NoInfer<AskedOptions<Tools, Context, Out, WithPrompt>>
export function eager<
  Tools extends ToolSet,
  Context extends AnyContext = AnyContext,
  Out extends OutputInterface = OutputInterface<string, string, never>,
>(
  options: TextOptions<Tools, Context, Out> & WithMessages,
  effects: NoInfer<Effects<{ readonly tools: Tools }>>,
  settings?: EagerSettings,
): NoInfer<AskedOptions<Tools, Context, Out, WithMessages>>
export function eager<
  Call = never,
  Tools extends ToolSet = ToolSet,
  Context extends AnyContext = AnyContext,
  Out extends OutputInterface = never,
>(
  options: ToolLoopAgentSettings<Call, Tools, Context, Out>,
  effects: NoInfer<Effects<{ readonly tools: Tools }>>,
  settings?: EagerSettings,
): AgentOptions<Call, Tools, Context, Out>
export function eager<Options extends { readonly tools?: object; readonly generate?: never }>(
  options: Options & IfUnnamed<Options>,
  effects: Effects<Options>,
  settings?: EagerSettings,
): Options
// Again the options of an agent, because the compiler reports the error of the last overload: here it is that of a
// misspelt effect.
export function eager<
  Call = never,
  Tools extends ToolSet = ToolSet,
  Context extends AnyContext = AnyContext,
  Out extends OutputInterface = never,
>(
  options: ToolLoopAgentSettings<Call, Tools, Context, Out> & Partial<WithPrompt & WithMessages>,
  effects: NoInfer<Effects<{ readonly tools: Tools }>>,
  settings?: EagerSettings,
): AgentOptions<Call, Tools, Context, Out>
export function eager(options: { readonly tools?: object }, effects: object, settings: EagerSettings = {}): object {
  if (typeof options !== 'object' || options === null)
    throw new ConfigError('options', 'must be an object: streamText(eager({ … }, { … }))')
  const given = options as SdkOptions
  if (options instanceof ToolLoopAgent)
    throw new ConfigError('options', 'is an agent; pass its options: new ToolLoopAgent(eager({ … }, { … }))')
  const { tools = {} } = given
  if (Array.isArray(tools))
    throw new ConfigError('tools', 'must be an object with the tools by name, such as { weather }')
  const loop = new EagerLoop(settings, 'ai 7')
  const names = Object.keys(tools)
  const declared = declaredEffects(effects, settings.mayBeMissing ? undefined : names)
  checkNames(settings, names)
  if (declared.size === 0) return options
  return new EagerOptions(given, tools, declared, loop).made()
}
