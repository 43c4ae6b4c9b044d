/** A run as the host of a tool. */

import type { Outcome } from '../checkpoint/checkpoint.ts'
import { AgentError, messageOf } from '../errors.ts'
import type { Host } from '../execution/tool-host.ts'
import { hash } from '../hash.ts'
import { addressOf } from '../interrupt/address.ts'
import { Interrupt } from '../interrupt/interrupt.ts'
import type { ToolCall, ToolMessage } from '../message.ts'
import { freeze } from '../run/history.ts'
import type { RunState } from '../run/run.ts'
import { viewOf } from '../run/run-view.ts'
import { ToolTimeoutError, UnknownToolError } from '../tool-errors.ts'
import type { CallEntry } from './call-entry.ts'
import { warnOf } from './call-warning.ts'
import { canonical, inputHash } from './canonical.ts'
import { stood } from './stood.ts'
import { textMessage } from './tool-message.ts'
import { resultMessage } from './tool-output.ts'

export function hostOf(run: RunState, entry: CallEntry): Host<ToolMessage> {
  const { tool, call } = entry
  return {
    tracing: run.tracing,
    capture: run.capture,
    agent: run.config.name,
    grace: run.config.grace,
    timeout: tool?.timeout,
    // What a call makes on the side is its own work: it has started.
    halted: entry.maker ? undefined : run.cancel.halted,
    // It works inside the slot of its maker, so that no line holds it back.
    stood: entry.maker && ((own) => stood(run, entry, { call: entry, signals: [own] })),
    attributes: () => run.annotations.of(call.id),
    answers: () => run.questions.answersAt(addressOf(run, entry)),
    warn: (message) => warnOf(entry, run, 'effect-failed', message),
    save: run.saver.isOn ? () => run.saver.now() : undefined,
    invocation: (call) => entry.record.invocation(inputOf(entry, call)),
    known(invocation) {
      const known = entry.record.again(invocation)
      return known && (() => again(known, call.name))
    },
    came(invocation, outcome) {
      if ('error' in outcome && outcome.error instanceof AgentError) return
      entry.nested.over(invocation)
      entry.record.add(invocation, 'result' in outcome ? { message: outcome.result } : thrown(outcome.error, call.name))
    },
    threw(error) {
      // What it does not ask itself is no reason to start it anew (L7).
      if (entry.isStoppedBy(error)) entry.record.isCutOff = true
      else if (error instanceof Interrupt) entry.ask(error)
    },
    viewOf: (actor) => viewOf(run, actor),
    resultOf: (call, tool, output) => freeze(resultMessage(call, tool, output, run.config.outputLimits)),
    givenOnNeeds: (call) => run.calls.givenOnNeeds(entry, call),
    unknown: (call) => unknown(run, call),
  }
}

/** What tells the input of an execution from others; nothing for the call's own. */
function inputOf({ call, rest }: CallEntry, { input }: ToolCall): string | undefined {
  if (input === call.input || input === rest?.started.input) return undefined
  const hashed = hashOf(input)
  return hashed === inputHash(call) ? undefined : hashed
}

/** A wrap may hand on what JSON cannot hold: that is told apart by its place only. */
function hashOf(input: unknown): string {
  try {
    return hash(canonical(input))
  } catch {
    return ''
  }
}

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
