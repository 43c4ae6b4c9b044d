/** `eager()` for the OpenAI Agents SDK: a runner whose declared tool calls start early. */

import { ConfigError } from '@meanwhile/core'
import { Agent, RunContext, Runner, RunState, StreamedRunResult } from '@openai/agents'
import { type DeclaredEffect, declaredEffects } from '../host/declared.ts'
import { EagerLoop } from '../host/eager-loop.ts'
import type { EagerSettings } from '../host/settings.ts'
import { AgentRun } from './agent-run.ts'
import { loadInternals } from './early-tools.ts'
import { watchAgent, watchModel, watchProvider } from './seams.ts'

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
    const { toolExecution = config.toolExecution } = options ?? {}
    const agentRun = new AgentRun({
      loop,
      declared,
      config,
      context,
      state,
      isStreamed: options?.stream === true,
      toolConcurrency: toolExecution?.maxFunctionToolConcurrency ?? undefined,
    })
    watchProvider(config.modelProvider)
    watchModel(config.model)
    watchAgent(agent)
    watchAgent(state?._currentAgent)
    try {
      const result: unknown = await runner.run(agent, input, state ? options : Object.assign({}, options, { context }))
      if (result instanceof StreamedRunResult) void agentRun.streams(result)
      else agentRun.over()
      return result
    } catch (error) {
      agentRun.over()
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

function whyNoRunner(given: unknown): string {
  if (given instanceof Agent) return 'is an Agent; pass a Runner: eager(new Runner(), { … })'
  if (given?.constructor?.name === 'Runner')
    return "is a Runner of another copy of @openai/agents. eager() imports the ES module; in CommonJS, take Runner from await import('@openai/agents')"
  return 'must be a Runner of @openai/agents'
}
