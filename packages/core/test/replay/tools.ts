/** The tools of a world. Each is a letter; what they do waits at gates, and the journal has it. */

import type { NeedsContext, Tool, ToolContext, ToolSchema } from '../../src/index.ts'
import type { Entry, Undo } from './journal.ts'
import { textOf } from './model.ts'
import { agentIn } from './nested.ts'
import type { Place } from './place.ts'
import { AT_END, EFFECTS, inputOf, isAgent, keysOf, type Letter, letterOf, MAKES } from './scenario.ts'
import { isStored } from './store.ts'

interface Input {
  readonly n: string
  readonly more?: string
}

/** The tools of these words, and those that they call. */
export function toolsOf(place: Place, words: readonly string[]): Tool[] {
  const letters = new Set(words.flatMap((word) => [letterOf(word), ...madeBy(word)]))
  return [...letters].map((letter) => toolOf(place, letter))
}

/** The letters of the calls that a call makes in the same run. */
function madeBy(word: string): Letter[] {
  const made = !isAgent(letterOf(word)) && MAKES[letterOf(word)]
  return made ? [letterOf(made(inputOf(word)))] : []
}

function toolOf(place: Place, letter: Letter): Tool {
  const atEnd = AT_END[letter]
  const own = {
    name: letter,
    description: letter,
    effect: EFFECTS[letter],
    input: schemaOf(place, letter),
    ...(atEnd && { background: { atEnd } }),
  }
  if (isAgent(letter)) {
    const agent = agentIn(place, letter, toolsOf(place, [MAKES[letter]?.('') ?? '']))
    return { ...place.on.core.agentTool(agent), ...own } as Tool
  }
  const keys = ({ n }: Input) => keysOf(letter + n)
  return {
    ...own,
    ...(keysOf(`${letter}1`).length > 0 && (own.effect === 'read' ? { reads: keys } : { writes: keys })),
    ...(letter === 'v' && { compensate: ({ n }: Input, output: unknown) => undo(place, letter + n, String(output)) }),
    ...(letter === 'z' && { concurrency: 1 }),
    ...(letter === 'N' && { needs: ['n'] }),
    ...(letter === 'W' && { warm: ({ callId }: { readonly callId: string }) => warm(place, callId) }),
    execute: ({ n }: Input, context: ToolContext) => execute(place, letter + n, context),
  } as Tool
}

function schemaOf({ scenario, gates, journal, process }: Place, letter: Letter): ToolSchema<Input> {
  const validate = async (value: unknown) => {
    const word = letter + (value as Input).n
    const check: (typeof journal.checks)[number] = { word, process, run: 'run' }
    journal.checks.push(check)
    await gates.pass(`${word} is checked`)
    check.isDone = true
    return { value: value as Input }
  }
  const check = scenario.slowCheck ? validate : (value: unknown) => ({ value: value as Input })
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
    entry.abortedAmid = place.amid
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
    throw error
  }
}

function entered(place: Place, word: string, context: ToolContext): Entry {
  const { journal, process, amid, announced, scenario } = place
  const { callId, idempotencyKey: key, attempt, signal } = context
  const words = [...announced.values()]
  const said = [...announced.keys()].indexOf(callId)
  const index = said < 0 ? words.indexOf(word) : said
  const entry: Entry = {
    word,
    callId,
    key,
    attempt,
    process,
    run: context.run?.id ?? '',
    answers: context.answers.map(String),
    isAborted: () => signal.aborted,
    amid,
    ...(index >= 0 && { before: words.slice(0, index) }),
    ...(scenario.store && { isStored: isStored(journal.stored, key) }),
  }
  journal.entries.push(entry)
  return entry
}

/** The work of a function: it waits at its gate, and returns its output. */
async function does(place: Place, entry: Entry, context: ToolContext): Promise<string> {
  const { core } = place.on
  const { word } = entry
  const letter = letterOf(word)
  const made = MAKES[letter]
  const run = context.run
  if (letter === 'w') {
    const refused = await run?.stood(context.callId).then(
      () => undefined,
      (error: unknown) => ({ error }),
    )
    if (refused && (await place.gates.pass(`${word} is refused, and`, () => ['throws', 'returns'])) === 'returns')
      return `${word} refused`
    if (refused) throw refused.error
  }
  await passed(place, entry, context.signal)
  if (made) {
    const inner = made(inputOf(word))
    const call = {
      type: 'tool-call',
      id: `inner ${letter}${word.slice(2)}`,
      name: letterOf(inner),
      input: { n: inputOf(inner) },
    } as const
    const message = await run?.callTool(call)
    return `${word} of ${message ? textOf(message) : 'nothing'}`
  }
  const asks = letter === 'q' || (letter === 'h' && !word.endsWith('b'))
  if (asks && entry.answers.length === 0) throw core.interrupt(word)
  if (letter === 'f' && context.attempt === 1) throw new Error('at first')
  if (letter === 'e' && context.attempt === 1) {
    entry.came = 'ended its run'
    if (!place.scenario.wrap) place.failed = true
    throw new core.AgentError(word)
  }
  if (letter === 'N') return `${word} done with ${(await (context as NeedsContext<Input>).rest).more}`
  if (letter === 'W') await context.warmed
  if (letter === 'g') return `${word} after ${timesWritten(place, inputOf(word))}`
  return [word, 'done', ...entry.answers].join(' ')
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
