/** `eager()` for the OpenAI Agents SDK: a runner whose declared tool calls start early. */

import { ConfigError } from '@meanwhile/core'
import { Agent, type AgentInputItem, RunContext, Runner, RunState, StreamedRunResult } from '@openai/agents'
import { type DeclaredEffect, declaredEffects } from '../host/declared.ts'
import { EagerLoop } from '../host/eager-loop.ts'
import type { EagerSettings } from '../host/settings.ts'
import { AgentRun } from './agent-run.ts'
import { within } from './current-run.ts'
import { loadInternals } from './early-tools.ts'
import { watchUsage } from './known-context.ts'
import { watchAgent, watchModel, watchProvider, watchRunner } from './seams.ts'

type RunArguments = Parameters<Runner['run']>

/**
 * Returns a runner that behaves like the given one, and starts calls of the declared tools while the model is still
 * streaming. Tools that are not declared stay unchanged.
 *
 * `effects`: by tool name. Functions in it receive the parsed input as the model wrote it.
 *
 * A run that does not stream is not faster unless `alwaysStream` is set.
 *
 * @throws {ConfigError} `runner` is not a `Runner`, an effect does not exist, a `reversible` tool has no `compensate`,
 * or a setting is invalid.
 */
export function eager<R extends Runner>(
  runner: R,
  effects: Readonly<Record<string, DeclaredEffect<never>>>,
  settings: EagerSettings = {},
): R {
  if (!(runner instanceof Runner)) throw new ConfigError('runner', whyNoRunner(runner))
  const declared = declaredEffects(effects)
  const loop = new EagerLoop(settings, '@openai/agents 0.20')
  if (declared.size === 0) return runner
  void loadInternals()

  async function run(...[agent, input, options]: RunArguments): Promise<unknown> {
    const state = input instanceof RunState ? input : undefined
    const given: unknown = options?.context
    const context = state?._context ?? (given instanceof RunContext ? given : new RunContext(given))
    const { config } = runner
    const toolExecution = options?.toolExecution ?? config.toolExecution
    const agentRun = new AgentRun({
      loop,
      declared,
      config,
      context,
      state,
      isFirst: beginsConversation(input, options),
      isStreamed: Boolean(options?.stream),
      toolConcurrency: toolExecution?.maxFunctionToolConcurrency ?? undefined,
    })
    watchUsage(context)
    watchRunner(runner)
    watchProvider(config.modelProvider)
    watchModel(config.model)
    watchAgent(agent)
    watchAgent(state?._currentAgent)
    try {
      const own = state ? options : withContext(options, context)
      const result: unknown = await within(agentRun, () => runner.run(agent, input, own))
      if (result instanceof StreamedRunResult) void agentRun.streams(result)
      else agentRun.over()
      return result
    } catch (error) {
      agentRun.failed(error)
      throw error
    }
  }

  return new Proxy(runner, {
    get(target, key) {
      if (key === 'run') return run
      const member: unknown = Reflect.get(target, key, target)
      return typeof member === 'function' ? member.bind(target) : member
    },
    set: (target, key, value) => Reflect.set(target, key, value, target),
  })
}

type RunOptions = RunArguments[2]

/** The same options with this context. */
function withContext(options: RunOptions, context: RunContext<unknown>): RunOptions {
  return Object.create(Object.getPrototypeOf(options ?? {}) as object, {
    ...Object.getOwnPropertyDescriptors(options ?? {}),
    ...Object.getOwnPropertyDescriptors({ context }),
  }) as RunOptions
}

/** Whether no agent has answered before. In a conversation that goes on, the agent may be one that was handed off to. */
function beginsConversation(input: RunArguments[1], options: RunOptions): boolean {
  if (input instanceof RunState || options?.session || options?.conversationId || options?.previousResponseId)
    return false
  const isOfUser = (item: AgentInputItem) => 'role' in item && item.role !== 'assistant'
  return typeof input === 'string' || input.every(isOfUser)
}

function whyNoRunner(given: unknown): string {
  if (given instanceof Agent) return 'is an Agent; pass a Runner: eager(new Runner(), { … })'
  if (given?.constructor?.name === 'Runner')
    return "is a Runner of another copy of @openai/agents. eager() imports the ES module; in CommonJS, take Runner from await import('@openai/agents')"
  return 'must be a Runner of @openai/agents'
}
