/** The tools of a world. Each is a letter; what they do waits at gates, and the journal has it. */

import type { NeedsContext, Tool, ToolContext, ToolSchema } from '../../src/index.ts'
import type { Entry, Undo } from './journal.ts'
import { passesThrough } from './middleware.ts'
import { modelOfAgent, textOf } from './model.ts'
import type { Place } from './place.ts'
import { atEndOf, ceilingOf, doesOf, effectOf, inputOf, isAgent, keyOf, keysOf, letterOf, madeBy } from './scenario.ts'
import { isStored } from './store.ts'

interface Input {
  readonly n: string
  readonly more?: string
}

/** The tools of these words, and those that they call. */
export function toolsOf(place: Place, words: readonly string[]): Tool[] {
  const made = words.flatMap((word) => (isAgent(word) ? [] : (madeBy(word) ?? [])))
  return [...new Set([...words, ...made].map(letterOf))].map((letter) => toolOf(place, letter))
}

function toolOf(place: Place, letter: string): Tool {
  const atEnd = atEndOf(letter)
  const own = {
    name: letter,
    description: doesOf(letter),
    effect: letter === 'R' ? ({ n }: Input) => effectOf(letter + n) : ceilingOf(letter),
    input: schemaOf(place, letter),
    ...(atEnd && { background: { atEnd } }),
  }
  if (isAgent(letter)) return { ...place.on.core.agentTool(agentOf(place, letter)), ...own } as Tool
  const keys = (isRead: boolean) => (input: Input) => {
    const word = letter + input.n
    return (effectOf(word) === 'read') === isRead ? keysOf(word) : []
  }
  return {
    ...own,
    ...(keyOf(letter) && { reads: keys(true), writes: keys(false) }),
    ...(letter === 'v' && { compensate: ({ n }: Input, output: unknown) => undo(place, letter + n, String(output)) }),
    ...(letter === 'z' && { concurrency: 1 }),
    ...(letter === 'T' && { timeout: 10 }),
    ...(letter === 'N' && { needs: ['n'] }),
    ...(letter === 'W' && { warm: ({ callId }: { readonly callId: string }) => warm(place, callId) }),
    execute: ({ n }: Input, context: ToolContext) => execute(place, letter + n, context),
  } as Tool
}

function agentOf(place: Place, letter: string): ReturnType<Place['on']['core']['createAgent']> {
  return place.on.core.createAgent({
    name: letter,
    description: doesOf(letter),
    model: modelOfAgent(place, letter),
    tools: toolsOf(place, [madeBy(letter) ?? '']),
    middleware: place.scenario.through ? [passesThrough] : [],
  })
}

function schemaOf({ scenario, gates, journal, process }: Place, letter: string): ToolSchema<Input> {
  const validate = async (value: unknown) => {
    const word = letter + (value as Input).n
    const check: (typeof journal.checks)[number] = { word, process, run: 'run' }
    journal.checks.push(check)
    await gates.pass(`${word} is checked`)
    check.isDone = true
    return { value: value as Input }
  }
  const problemsOf = ({ n, more }: Input) =>
    letter === 'N'
      ? [...(n === '0' ? ['n'] : []), ...(more ? [] : ['more'])].map((name) => ({ message: name, path: [name] }))
      : []
  const validateNow = (value: unknown) => {
    const issues = problemsOf(value as Input)
    return issues.length > 0 ? { issues } : { value: value as Input }
  }
  const check = scenario.slowCheck ? validate : validateNow
  const input = () => ({ type: 'object', properties: { n: { type: 'string' } } })
  return { '~standard': { version: 1, vendor: 'world', validate: check, jsonSchema: { input } } }
}

async function undo({ gates, journal, process, reached }: Place, word: string, output: string): Promise<void> {
  const undone: Undo = { word, output, process }
  journal.undone.push(undone)
  reached(`the undo of ${word} starts`)
  await gates.pass(`${word} is undone`)
  undone.endedAfter = journal.saves
}

async function warm({ gates, journal, reached }: Place, callId: string): Promise<string> {
  journal.warmed.push(callId)
  reached('a warm-up starts')
  await gates.pass('a warm-up ends')
  return 'warm'
}

async function execute(place: Place, word: string, context: ToolContext): Promise<string> {
  const entry = entered(place, word, context)
  const hears = () => {
    Object.assign(entry, { abortedIn: place.moves(), abortedAmid: place.amid })
    place.reached(`${word} hears its abort`)
  }
  context.signal.addEventListener('abort', hears, { once: true })
  place.reached(`${word} starts`)
  try {
    entry.output = await does(place, entry, context)
    entry.came ??= 'returned'
    return entry.output
  } catch (error) {
    entry.came ??= error instanceof place.on.core.RunStop ? 'asked' : 'threw'
    if (entry.came === 'asked' && /^q[jy]/.test(word) && !context.signal.aborted) place.stops('a question of its work')
    throw error
  }
}

function entered(place: Place, word: string, context: ToolContext): Entry {
  const { journal, process, amid, announced, scenario } = place
  const { callId, idempotencyKey: key, attempt, signal, answers, run } = context
  const words = [...announced.values()]
  const said = [...announced.keys()].indexOf(callId)
  const index = said < 0 ? words.indexOf(word) : said
  const entry: Entry = {
    word,
    callId,
    key,
    attempt,
    process,
    amid,
    run: run?.id ?? '',
    answers: answers.map(String),
    isAborted: () => signal.aborted,
    ...(index >= 0 && { before: words.slice(0, index) }),
    ...(scenario.store && { isStored: isStored(journal.stored, key) }),
  }
  journal.entries.push(entry)
  return entry
}

/** The work of a function: it waits at its gate, and returns its output. */
async function does(place: Place, entry: Entry, context: ToolContext): Promise<string> {
  const { word } = entry
  const letter = letterOf(word)
  if (letter === 'w' && (await isRefused(place, word, context))) return `${word} refused`
  await passed(place, entry, context.signal)
  const inner = madeBy(word)
  if (inner) {
    const call = { id: `inner ${letter}${word.slice(2)}`, name: letterOf(inner), input: { n: inputOf(inner) } }
    const message = await context.run?.callTool({ type: 'tool-call', ...call })
    return `${word} of ${message ? textOf(message) : 'nothing'}`
  }
  const asks = letter === 'q' || (letter === 'h' && !word.endsWith('b'))
  if (asks && entry.answers.length === 0) throw place.on.core.interrupt(word, { answer: YES })
  if (letter === 'f' && context.attempt === 1) throw new Error('at first')
  if ((letter === 'e' && context.attempt === 1) || word === 'z0') {
    entry.came = 'ended its run'
    if (!place.scenario.wrap) place.failed = true
    throw new place.on.core.AgentError(word)
  }
  if (letter === 'N') return `${word} done with ${(await (context as NeedsContext<Input>).rest).more}`
  if (letter === 'W') await context.warmed
  if (letter === 'g') return `${word} after ${timesWritten(place, inputOf(word))}`
  return [word, 'done', ...entry.answers].join(' ')
}

/** The only answer to a question of a tool. */
const YES: ToolSchema<string> = {
  '~standard': {
    version: 1,
    vendor: 'world',
    validate: (value) => (value === 'yes' ? { value } : { issues: [{ message: 'say yes' }] }),
    jsonSchema: { input: () => ({ type: 'string', enum: ['yes'] }) },
  },
}

/** Waits until the response is accepted. If it is not, the function throws why, or returns all the same. */
async function isRefused({ gates }: Place, word: string, { run, callId }: ToolContext): Promise<boolean> {
  try {
    await run?.stood(callId)
    return false
  } catch (error) {
    if ((await gates.pass(`${word} is refused, and`, () => ['throws', 'returns'])) === 'throws') throw error
    return true
  }
}

function timesWritten({ journal }: Place, input: string): number {
  return journal.entries.filter(({ word, came }) => word === `b${input}` && came === 'returned').length
}

/** A function that hears its abort stops, or ends all the same; d hears nothing. */
async function passed({ gates }: Place, entry: Entry, signal: AbortSignal): Promise<void> {
  const isDeaf = letterOf(entry.word) === 'd'
  const how = await gates.pass(entry.word, () => (signal.aborted && !isDeaf ? ['ends', 'stops'] : ['ends']))
  if (how === 'ends') return
  entry.came = 'threw'
  throw signal.reason
}
