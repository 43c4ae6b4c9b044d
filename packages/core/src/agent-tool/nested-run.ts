/** Runs an agent inside a call of another run. It is saved, cancelled and aborted with that call. */

import type { StandardSchemaV1 } from '@standard-schema/spec'
import { type Agent, configBehind } from '../agent.ts'
import { nextInvocation } from '../machine/call.ts'
import { executionWanted } from '../machine/decide-call.ts'
import { startRun } from '../run/agent-run.ts'
import { actorOf } from '../run/run-view.ts'
import type { Execution } from '../state/call-outcomes.ts'
import { UserContext } from '../state/user-context.ts'
import type { AgentConfig } from '../vocabulary/agent-config.ts'
import { AnswerError, ContextError } from '../vocabulary/errors.ts'
import type { AgentEvent } from '../vocabulary/events.ts'
import { Interrupt } from '../vocabulary/interrupt.ts'
import type { AgentResult } from '../vocabulary/result.ts'
import type { Beginning, RunInput } from '../vocabulary/run-options.ts'
import type { Invocation } from '../vocabulary/saved-run.ts'
import type { Tool, ToolContext } from '../vocabulary/tool.ts'

interface CallingTool extends Pick<Tool, 'name' | 'input'> {
  readonly events: boolean
  readonly maxDepth: number
  readonly context: ContextWithin | undefined
}

/**
 * Runs an agent for a tool call. Returns its result once it has completed. If it stops before that, the calling run stops, too.
 *
 * @throws {RangeError} Agents call agents deeper than allowed.
 */
export async function runWithin(
  agent: Agent,
  input: RunInput,
  calling: ToolContext,
  tool: CallingTool,
): Promise<AgentResult> {
  const { signal } = calling
  const caller = calling.run && actorOf(calling.run)
  const entry = caller?.actor.call
  if (!entry) {
    const alone = 'context' in calling && calling.context instanceof UserContext ? calling.context.given : undefined
    return agent.run(input, { signal, context: alone })
  }
  const { state: run, actor } = caller
  if (run.depth >= tool.maxDepth)
    throw new RangeError(`${tool.name} was not run: agents may be nested at most ${tool.maxDepth} deep`)
  const invocation = invocationIn(actor.execution) ?? nextInvocation(entry.state, actor.source)
  if (!actor.execution) entry.decide(executionWanted(entry.state, invocation))
  const nested = entry.outcomes.runIn(invocation)
  const beginning: Beginning = nested
    ? { resume: { from: nested.checkpoint, answers: nested.answers ?? {}, rerun: run.rerun } }
    : { input }
  const show = (event: AgentEvent) => {
    // What was decided about a call is shown as the question was: by every run around it.
    if (!tool.events && !(event.type === 'custom' && event.name === 'approval')) return
    const { toolName: _, ...call } = entry.named
    run.calls.events.tell(entry, { ...event, path: [{ agent: tool.name, ...call }, ...(event.path ?? [])] })
  }
  const { name, input: schema, context } = tool
  // It was checked before the first model call, unless a tool has created this agent.
  if (context) await run.userContext.check([{ name, input: schema, context }])
  const userContext = context ? (run.userContext.checked.get(context)?.value as UserContext) : run.userContext
  const nesting = { run, entry, invocation, context: actor.context, userContext, show }
  const config = configBehind(agent)
  // The agent's grace time must end before that of the calling run.
  const within = { ...config, grace: Math.min(config.grace, run.config.grace) }
  const outcome = await startRun(run.work, within, beginning, { signal }, nesting).result.catch(async (error) => {
    if (error instanceof AnswerError) {
      // The resume has already saved these answers. So a later resume must ask these questions again.
      entry.outcomes.refuse(invocation)
      await run.saver.now().catch(() => undefined)
    }
    throw error
  })
  if (outcome.status === 'completed') return outcome
  if (run.halt.state.mode) throw run.halt.error
  throw entry.relay(new Interrupt(outcome.interrupts?.[0]?.payload ?? null))
}

/** The invocation of the next agent run. One execution may run several agents one after another, or the same one again. */
function invocationIn(execution: Execution | undefined): Invocation | undefined {
  if (!execution) return undefined
  const { invocation, agents = 0 } = execution
  execution.agents = agents + 1
  return { ...invocation, ...(agents > 0 && { nested: agents }) }
}

/** A schema whose value all runs of the agent in one calling run share, so that it is checked only once. */
type ContextWithin = StandardSchemaV1<unknown, UserContext>

/**
 * Makes the context of an agent inside a call. It is checked before the calling run's first model call, like that of its own tools. Returns nothing if
 * nothing has to be made or checked: the agent then has the context of the calling run.
 */
export function contextWithin(agent: AgentConfig, change?: (outer: unknown) => unknown): ContextWithin | undefined {
  const needs = [...agent.setup.tools, ...agent.middleware].some(({ context }) => context)
  if (!change && !needs) return undefined
  const validate = async (outer: unknown): Promise<StandardSchemaV1.Result<UserContext>> => {
    const value = new UserContext(change ? await change(outer) : outer)
    try {
      await value.checkFor(agent)
      return { value }
    } catch (error) {
      if (!(error instanceof ContextError)) throw error
      return { issues: error.issues.map(({ path, message }) => ({ path: [path], message })) }
    }
  }
  return { '~standard': { version: 1, vendor: 'meanwhile', validate } }
}
