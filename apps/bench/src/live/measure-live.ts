/** Measures one run against a real endpoint, by what its client sees. */

import { type AgentResult, callsOf, createAgent, messageOf } from '@meanwhile/core'
import { clock } from '@meanwhile/harness/server'
import { type ModelAccess, modelOf, NO_KEY } from '../agents.ts'
import type { Ran, Subject } from '../contestant.ts'
import { ownAccount } from '../measure.ts'
import { isMode, MODE_OPTIONS } from '../modes.ts'
import { RunFailedError, type Sample } from '../sample.ts'
import { measuredTools, measuredWork, type ToolRun } from '../tools.ts'
import type { LivePrompt } from './prompts.ts'
import { endOf, type Watched, watchedFetch } from './watched-fetch.ts'

export interface LiveAccess extends ModelAccess {
  readonly url: string
}

export interface LiveBench {
  /** Rejects with a {@link RunFailedError} if the model did not make the requested calls in one response. */
  measure(subject: Subject, signal: AbortSignal): Promise<Sample>
  /** The sum of all runs so far. */
  spent(): { readonly requests: number; readonly inputTokens: number; readonly outputTokens: number }
}

const TIME_LIMIT = 120_000

export function liveBench(access: LiveAccess, prompts: readonly LivePrompt[]): LiveBench {
  const spent = { requests: 0, inputTokens: 0, outputTokens: 0 }
  return {
    spent: () => ({ ...spent }),
    async measure(subject, signal) {
      try {
        const asked = prompts.find((live) => live.scenario === subject.scenario)
        if (!asked) throw new TypeError(`${subject.scenario.id} is not a prompt`)
        const { sample, usage, requests } = await run(subject, asked, access, signal)
        spent.requests += requests
        spent.inputTokens += usage.inputTokens ?? 0
        spent.outputTokens += usage.outputTokens ?? 0
        return sample
      } catch (error) {
        throw new RunFailedError(withoutKey(messageOf(error), access))
      }
    },
  }
}

/** Some endpoints repeat the request in their errors. */
function withoutKey(text: string, { apiKey }: LiveAccess): string {
  return apiKey === NO_KEY ? text : text.replaceAll(apiKey, '[key]')
}

interface LiveRun {
  readonly sample: Sample
  readonly usage: AgentResult['usage']
  readonly requests: number
}

async function run(
  { scenario, wire, mode }: Subject,
  asked: LivePrompt,
  access: LiveAccess,
  signal: AbortSignal,
): Promise<LiveRun> {
  if (!isMode(mode) || mode === 'floor') throw new TypeError(`a real model cannot run in the mode ${mode}`)
  const watched: Watched[] = []
  const tools: ToolRun[] = []
  const agent = createAgent({
    name: `bench-${scenario.id}`,
    model: modelOf(wire, { url: access.url, fetch: watchedFetch(watched) }, access),
    tools: measuredTools(
      scenario,
      measuredWork(({ tool }) => asked.toolMs[tool] ?? 0, tools),
    ),
    ...MODE_OPTIONS[mode],
    telemetry: { attributes: { 'bench.scenario': scenario.id, 'bench.wire': wire, 'bench.mode': mode } },
  })
  const cpu = process.cpuUsage()
  const began = clock()
  const going = agent.stream(asked.prompt, { signal: AbortSignal.any([signal, AbortSignal.timeout(TIME_LIMIT)]) })
  const argsDone = new Map<string, number>()
  for await (const event of going) {
    if (event.type === 'tool-input-start' || event.type === 'tool-input-delta') argsDone.set(event.id, clock())
  }
  const result = await going.result
  const ended = clock()
  checkCalls(asked, result)
  const cpuUserMs = process.cpuUsage(cpu).user / 1000
  const { text, savings, usage } = result
  const ran: Ran = { text, ...(savings && { savings }), tools, began, ended, cpuUserMs }
  return { sample: sampleOf(ran, watched, argsDone), usage, requests: watched.length }
}

/** Runs that do other things cannot be compared. */
function checkCalls({ scenario }: LivePrompt, { messages, text }: AgentResult): void {
  const steps = messages.flatMap((message) => (message.role === 'assistant' ? [callsOf(message)] : []))
  const made = steps.map((calls) => calls.map(({ name }) => name).join(', ')).filter((names) => names !== '')
  const wanted = scenario.turns.flat().map(({ tool }) => tool)
  if (made.length !== 1 || made[0] !== wanted.join(', ')) {
    throw new RunFailedError(
      `the model called ${made.join(', then ') || 'nothing'}, not ${wanted.join(', ')} in one response`,
    )
  }
  if (text === '') throw new RunFailedError('the model gave no answer')
}

/** Without what only the server knows. */
function sampleOf(ran: Ran, watched: readonly Watched[], argsDone: ReadonlyMap<string, number>): Sample {
  const { began, ended, tools, cpuUserMs } = ran
  const isSpoken = (time: number): boolean => watched.some((one) => one.sent <= time && time < endOf(one))
  return {
    wallMs: ended - began,
    lagMs: [],
    early: tools.filter(({ entered }) => isSpoken(entered)).length,
    ...ownAccount(ran),
    cpuUserMs,
    latenessMs: 0,
    timeline: {
      streams: watched.map((one) => ({
        begin: one.sent - began,
        end: endOf(one) - began,
        tokens: one.pieces.map((time) => time - began),
      })),
      calls: tools
        .toSorted((a, b) => a.entered - b.entered)
        .map(({ callId, entered, settled }) => ({
          id: callId,
          argsDone: (argsDone.get(callId) ?? entered) - began,
          entered: entered - began,
          settled: settled - began,
        })),
      end: ended - began,
    },
  }
}
