/** Runs the AI SDK's loops with options that are given to `eager()`, added to what it returns, or passed to a call of an agent. */

import { sleep } from '@meanwhile/tests/clock'
import { generateText, isStepCount, streamText, ToolLoopAgent, type ToolLoopAgentSettings, tool } from 'ai'
import { vi } from 'vitest'
import { z } from 'zod'
import { type EagerSettings, eager } from '../src/ai-sdk/index.ts'
import type { DeclaredEffect } from '../src/host/declared.ts'
import { bench, model, type Part } from './sdk.ts'
import { OPTIONS, type OptionName, script, type Trial } from './sdk-options.ts'

const looked = z.object({ q: z.string(), n: z.number().optional() })
const sent = z.object({ to: z.string() })
const put = z.object({ key: z.string() })

export const HOSTS = ['streamText', 'generateText', 'agent.stream', 'agent.generate'] as const
export const WAYS = ['given', 'added', 'in the call'] as const

export type HostName = (typeof HOSTS)[number]
export type Way = (typeof WAYS)[number]

export interface Choice {
  readonly name: OptionName
  /** Which of the values. */
  readonly nth: number
  readonly way: Way
}

export interface Program {
  readonly host: HostName
  readonly choices: readonly Choice[]
  readonly responses?: readonly (readonly Part[])[]
  readonly provider?: string
  readonly effects?: Readonly<Record<string, DeclaredEffect>>
  readonly settings?: EagerSettings
  /** How many requests are made at once with these options. Default 1. */
  readonly requests?: number
  /** When the run is aborted, in milliseconds. */
  readonly aborts?: number | undefined
}

export interface Outcome {
  /** Names and inputs of the executions, in the order in which they began. */
  readonly executed: readonly string[]
  /** Names and inputs of the executions that were undone. */
  readonly undone: readonly string[]
  /** What the functions of the user heard, in order. */
  readonly heard: readonly string[]
  readonly result: unknown
  readonly warnings: readonly string[]
}

/** The program without and with `eager()`. */
export async function bothWays(program: Program): Promise<{ readonly plain: Outcome; readonly eager: Outcome }> {
  return { plain: await run(program, false), eager: await run(program, true) }
}

async function run(program: Program, isEager: boolean): Promise<Outcome> {
  const { host, choices, responses = script, provider = 'openai.responses', settings, requests = 1, aborts } = program
  const executed: string[] = []
  const undone: string[] = []
  const heard: string[] = []
  const warnings: string[] = []
  const made = bench(10)
  const ran = (name: string, input: unknown) => void executed.push(`${name} ${JSON.stringify(input)}`)
  const noted = (name: string, schema: z.ZodObject) =>
    tool({
      inputSchema: schema,
      execute: (input, options) => {
        ran(name, input)
        return made.work(input, options)
      },
    })
  const tools = {
    look: noted('look', looked),
    send: noted('send', sent),
    // It ignores its signal, so each run of it has its effect.
    put: tool({
      inputSchema: put,
      execute: async (input) => {
        ran('put', input)
        await sleep(10)
        return 'done'
      },
    }),
  }
  const trial: Trial = {
    ...made,
    tools: Object.assign(made.tools, tools),
    ran,
    hear: (name, event) => void heard.push(`${name} ${clean(event)}`),
    signal: new AbortController(),
  }
  if (aborts !== undefined) setTimeout(() => trial.signal.abort(new Error('stop')), aborts)
  const chosen = (way: Way) =>
    Object.fromEntries(
      choices.filter((one) => one.way === way).map(({ name, nth }) => [name, chosenValue(name, nth, trial)]),
    )
  const given = {
    model: (requests > 1 ? shared : model)(responses, provider),
    tools,
    stopWhen: isStepCount(4),
    maxRetries: 0,
    onError: () => undefined,
    ...(aborts !== undefined && { abortSignal: trial.signal.signal }),
    ...prompted({
      prompt: 'go',
      ...chosen('given'),
    }),
  }
  const compensate = (input: unknown) => void undone.push(`put ${JSON.stringify(input)}`)
  const effects = program.effects ?? { look: 'read', put: { effect: 'reversible', compensate } }
  const onWarning: EagerSettings['onWarning'] = ({ code, message }) => void warnings.push(`${code}: ${message}`)
  const options = isEager ? eager(given as Parameters<typeof eager>[0], effects, { onWarning, ...settings }) : given
  const added = chosen('added')
  const passed = Object.keys(added).length > 0 ? prompted({ ...options, ...added }) : options
  const going = Promise.all(
    Array.from({ length: requests }, async () => {
      try {
        return await asked(host, passed, chosen('in the call'), trial)
      } catch (error) {
        return `threw ${error instanceof Error ? error.message : String(error)}`
      }
    }),
  )
  const result = JSON.parse(clean(await ended(going)))
  await vi.runAllTimersAsync()
  return { executed, undone, heard, result, warnings }
}

/** Moves the fake clock on until the promise is settled. A signature is made in real time. */
async function ended<Value>(promise: Promise<Value>): Promise<Value> {
  let isOpen = true
  const over = promise.finally(() => {
    isOpen = false
  })
  while (isOpen) {
    await vi.runAllTimersAsync()
    await new Promise(setImmediate)
  }
  return over
}

/** Requests at the same time get equal responses: one for each number of answers in their prompt. */
function shared(responses: readonly (readonly Part[])[], provider: string): ReturnType<typeof model> {
  const all = responses.map((parts) => model([parts], provider))
  const first = model(responses, provider)
  const next = (prompt: readonly { readonly role: string }[]) =>
    all[Math.min(prompt.filter(({ role }) => role === 'assistant').length, all.length - 1)] ?? first
  first.doStream = (request) => next(request.prompt).doStream(request)
  first.doGenerate = (request) => next(request.prompt).doGenerate(request)
  return first
}

function chosenValue(name: OptionName, nth: number, trial: Trial): unknown {
  const values = OPTIONS[name]
  return values[nth % values.length]?.(trial)
}

/** The SDK accepts a prompt or messages, not both. */
function prompted<Options extends object>(options: Options): Options {
  return 'messages' in options ? Object.assign({ ...options }, { prompt: undefined }) : options
}

async function asked(host: HostName, options: object, inCall: object, trial: Trial): Promise<unknown> {
  const whole = Object.keys(inCall).length > 0 ? prompted({ ...options, ...inCall }) : options
  const callOf = prompted({ prompt: 'go', ...inCall })
  const agent = () => new ToolLoopAgent(options as ToolLoopAgentSettings)
  switch (host) {
    case 'streamText':
      return streamed(streamText(whole as Parameters<typeof streamText>[0]), trial)
    case 'agent.stream':
      return streamed(await agent().stream(callOf), trial)
    case 'generateText':
      return generated(await generateText(whole as Parameters<typeof generateText>[0]))
    case 'agent.generate':
      return generated(await agent().generate(callOf))
  }
}

type Streamed = Awaited<ReturnType<ToolLoopAgent['stream']>> | ReturnType<typeof streamText>

async function streamed(result: Streamed, { hear }: Trial): Promise<unknown> {
  const parts: unknown[] = []
  const results: string[] = []
  try {
    for await (const part of result.fullStream) {
      // Results come in the order in which their tools end.
      if (part.type === 'tool-result') results.push(clean(part))
      else parts.push(part.type === 'error' ? { type: 'error', error: messageOf(part.error) } : part)
    }
  } catch (error) {
    hear('the stream failed', messageOf(error))
  }
  const settled = async (value: PromiseLike<unknown>) => {
    try {
      return await value
    } catch (error) {
      return `! ${messageOf(error)}`
    }
  }
  return {
    parts,
    results: results.sort(),
    text: await settled(result.text),
    steps: inAnyOrder(await settled(result.steps)),
  }
}

type Generated = Awaited<ReturnType<typeof generateText>> | Awaited<ReturnType<ToolLoopAgent['generate']>>

function generated({ text, steps }: Generated): unknown {
  return { text, steps: inAnyOrder(steps) }
}

function inAnyOrder(steps: unknown): unknown {
  if (!Array.isArray(steps)) return steps
  return steps.map(({ content, finishReason }) => [finishReason, content.map(clean).sort()])
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error))

/** Members with times, generated ids or tools. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  'timestamp',
  'performance',
  'responseTimeMs',
  'toolExecutionMs',
  'stepTimeMs',
  'signature',
  'id',
  'callId',
  'messageId',
  'approvalId',
  'responseId',
  'tools',
  'steps',
  'finalStep',
  'headers',
  'output',
])

function clean(value: unknown): string {
  const replace = (key: string, member: unknown) => {
    if (LEFT_OUT.has(key) && key !== '') return undefined
    return member instanceof Error ? `error ${member.message}` : member
  }
  return JSON.stringify(value, replace) ?? 'undefined'
}

/** `generateText` uses these only when the response has ended: `eager()` can know them only if they are given. */
export function isKnownLate(host: HostName, { name, way }: Choice): boolean {
  if (host === 'agent.generate') return name === 'prepareCall' && way === 'added'
  return (
    host === 'generateText' && way !== 'given' && (name === 'toolApproval' || name === 'experimental_refineToolInput')
  )
}

/**
 * What must be equal. Tools end earlier, so the order of the callbacks about their ends may differ. Chunks are compared
 * apart from the rest: the SDK reads ahead by as much as there is, so the callback for a part that comes at once may be
 * called before or after others. With several `requests` at once, any of them may be first.
 */
export function seen({ heard, result }: Outcome, requests = 1): object {
  const isEnd = (line: string) =>
    /^(onToolExecutionEnd|experimental_onToolCallFinish) /.test(line) || /^onChunk .*"type":"tool-result"/.test(line)
  const isChunk = (line: string) => line.startsWith('onChunk ')
  const rest = heard.filter((line) => !isEnd(line))
  const inOrder = (lines: string[]) => (requests === 1 ? lines : lines.sort())
  return {
    heard: inOrder(rest.filter((line) => !isChunk(line))),
    chunks: inOrder(rest.filter(isChunk)),
    ends: heard.filter(isEnd).sort(),
    result,
  }
}

/** The executions of one tool, in order. */
export function runsOf({ executed }: Pick<Outcome, 'executed'>, tool: string): readonly string[] {
  return executed.filter((line) => line.startsWith(`${tool} `))
}
