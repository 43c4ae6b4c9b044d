/** Converts a recording to scenarios: one for each conversation with tool calls. */

import { basename } from 'node:path'
import { respond, say } from '@meanwhile/assemble/testing'
import { messageOf, textOf } from '@meanwhile/core'
import { parseRecording, type RecordedExchange, replayRecording, type ScriptedReply } from '@meanwhile/harness/server'
import { z } from 'zod'
import { count } from '../format.ts'
import type { Scenario } from '../scenario.ts'
import { shapeOf } from '../shape.ts'
import { UsageError } from '../usage-error.ts'
import { type Conversations, conversationsOf, type Spoken } from './conversations.ts'
import { checkFacts, type ToolFacts } from './tool-facts.ts'

export interface Replay {
  readonly scenarios: readonly Scenario[]
  /** What was played, what was not, and what does not come from the recording. */
  readonly remarks: readonly string[]
}

/** Throws a {@link UsageError} if the text has nothing to play, or if the tools must be described first. */
export async function replayScenarios(
  text: string,
  facts: ReadonlyMap<string, ToolFacts>,
  file: string,
): Promise<Replay> {
  const exchanges = exchangesOf(text, file)
  const conversations = await conversationsOf(exchanges)
  const { withCalls, left } = conversations
  const played = withCalls.filter((chain) => !repeatsIds(chain))
  const why = left.map(({ index, why }) => `response ${index + 1}: ${why}`).join('; ')
  if (played.length === 0)
    throw new UsageError(`${file}: no response in it calls a tool${why === '' ? '' : ` (${why})`}`)
  checkFacts(played, facts, file)
  const replies = replayRecording(text, { ignore: ['body', 'parameters'] }).map(endingAtOnce)
  const name = basename(file).replace(/(\.recording)?\.json$/, '')
  return {
    scenarios: played.map((chain, index) => scenarioOf(chain, `${name}-${index + 1}`, replies, facts)),
    remarks: remarksOf(conversations, played.length, name),
  }
}

function exchangesOf(text: string, file: string): readonly RecordedExchange[] {
  try {
    return parseRecording(text)
  } catch (cause) {
    throw new UsageError(`${file}: ${messageOf(cause)}`, { cause })
  }
}

/** With its last byte: a client that has read enough disconnects before a later end, and then the log has no end. */
function endingAtOnce(reply: ScriptedReply): ScriptedReply {
  return 'raw' in reply ? { ...reply, raw: reply.raw.filter((step) => !('end' in step)) } : reply
}

/** An agent gives such calls other ids, and the benchmark finds calls by their ids. */
function repeatsIds(chain: readonly Spoken[]): boolean {
  const ids = chain.flatMap(({ calls }) => calls.map(({ id }) => id))
  return new Set(ids).size < ids.length
}

function scenarioOf(
  chain: readonly Spoken[],
  id: string,
  replies: readonly ScriptedReply[],
  facts: ReadonlyMap<string, ToolFacts>,
): Scenario {
  const turns = chain.map(({ calls, lastWrites }) =>
    calls.map(({ id, name, input }) => {
      const lastWrite = lastWrites.get(id)
      return { id, tool: name, input, toolMs: facts.get(name)?.ms ?? 0, ...(lastWrite !== undefined && { lastWrite }) }
    }),
  )
  const names = new Set(turns.flat().map(({ tool }) => tool))
  const tools = [...names].map((name) => ({ name, effect: facts.get(name)?.effect ?? 'external', input: ANY }))
  const script = chain.flatMap(({ index }) => replies[index] ?? [])
  const last = chain.at(-1)
  const wire = last?.exchange.request.wire
  const isAnswered = last?.calls.length === 0
  return {
    id,
    title: `Conversation ${id}`,
    shape: `${shapeOf(tools, turns)}; as recorded`,
    timing: 'recorded',
    tools,
    turns: isAnswered ? turns : [...turns, []],
    script: isAnswered ? script : [...script, respond(say(UNANSWERED))],
    answer: isAnswered && last ? textOf(last.message) : UNANSWERED,
    ...(wire && { wires: [wire] }),
  }
}

/** For the results of calls that the recording does not have. */
const UNANSWERED = 'Done.'

const ANY = z.record(z.string(), z.unknown())

function remarksOf({ withCalls, withoutCalls, left }: Conversations, played: number, name: string): readonly string[] {
  const repeating = withCalls.length - played
  const open = withCalls.filter((chain) => (chain.at(-1)?.calls.length ?? 0) > 0).length
  return [
    `${name}: recorded bytes at their recorded times; the tools are stand-ins with the duration and effect of --tool.`,
    ...(withoutCalls > 0
      ? [`${name}: ${count(withoutCalls, 'response')} without calls not played: eager tools have nothing to do there.`]
      : []),
    ...(open > 0 ? [`${name}: ${count(open, 'conversation')} ended with calls: an answer of one word was added.`] : []),
    ...(repeating > 0 ? [`${name}: ${count(repeating, 'conversation')} not played: its call ids repeat.`] : []),
    ...left.map(({ index, why }) => `${name}: response ${index + 1} not played: ${why}.`),
  ]
}
