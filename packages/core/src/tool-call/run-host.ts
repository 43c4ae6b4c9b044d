/** What a run gives to the executions of a tool: known outcomes, answers, saves, and what becomes of a call of an unknown tool. */

import type { Host } from '../execution/tool-host.ts'
import { marked, movedTo, recalled } from '../machine/decide-call.ts'
import { keptFor } from '../machine/invocation.ts'
import { addressOf } from '../state/address.ts'
import type { CallEntry } from '../state/call-entry.ts'
import type { RunState } from '../state/run.ts'
import { AgentError, messageOf, RunStop } from '../vocabulary/errors.ts'
import { freeze } from '../vocabulary/history.ts'
import { Interrupt } from '../vocabulary/interrupt.ts'
import type { ToolCall, ToolMessage } from '../vocabulary/message.ts'
import type { Invocation, Outcome } from '../vocabulary/saved-run.ts'
import { ToolTimeoutError, UnknownToolError } from '../vocabulary/tool-errors.ts'
import { held, warnOf } from './stood.ts'
import { textMessage } from './tool-message.ts'
import { resultMessage } from './tool-output.ts'

export function hostOf(run: RunState, entry: CallEntry): Host<ToolMessage> {
  const { tool, call } = entry
  const came = (invocation: Invocation, outcome: Outcome) => {
    if (entry.decide(movedTo(entry.state, invocation, 'ended'))) entry.outcomes.add(invocation, outcome)
  }
  return {
    telemetry: run.telemetry,
    grace: run.config.grace,
    timeout: tool?.timeout,
    // What a call makes on the side is its own work: it has started.
    halted: entry.maker ? undefined : run.halt.halted,
    held: (does, signals) => held(run, entry, does, signals),
    answers: () => run.questions.answersAt(addressOf(run, entry)),
    warn: (message) => warnOf(entry, run, 'effect-failed', message),
    save: run.saver.isOn ? () => run.saver.now() : undefined,
    known(invocation) {
      const known = entry.outcomes.before(keptFor(invocation, entry.state.knownOutcomes ?? []))
      if (known && entry.decide(recalled(entry.state, invocation))) entry.outcomes.add(invocation, known)
      return known && (() => again(known, call.name))
    },
    came(invocation, outcome) {
      if ('error' in outcome && outcome.error instanceof AgentError) return
      came(invocation, 'result' in outcome ? { message: outcome.result } : thrown(outcome.error, call.name))
    },
    threw(error) {
      // What it does not ask itself is no reason to start it anew (L7).
      if (entry.isStoppedBy(error) || endsRun(error)) entry.decide(marked(entry.state, 'isCutOff'))
      else if (error instanceof Interrupt) entry.ask(error)
    },
    viewOf: (actor) => run.work.view(run, actor),
    resultOf: (call, tool, output) => freeze(resultMessage(call, tool, output, run.config.outputLimits)),
    givenOf: run.work.needs.givenOf,
    unknown: (call) => unknown(run, call),
  }
}

const endsRun = (error: unknown) => error instanceof AgentError && !(error instanceof RunStop)

function thrown(error: unknown, tool: string): Outcome {
  const isLimit = error instanceof ToolTimeoutError && error.tool === tool
  return { error: messageOf(error), ...(isLimit && { timeout: error.timeout }) }
}

function again(known: Outcome, tool: string): ToolMessage {
  if ('message' in known) return known.message
  throw known.timeout === undefined ? new Error(known.error) : new ToolTimeoutError(tool, known.timeout)
}

async function unknown(run: RunState, call: ToolCall): Promise<ToolMessage> {
  const answer = call.name === '' ? undefined : await run.config.unknownTool?.(call)
  if (answer !== undefined) return freeze(textMessage(call, answer, false))
  throw new UnknownToolError(
    call.name,
    run.setup.tools.map((tool) => tool.name),
  )
}
