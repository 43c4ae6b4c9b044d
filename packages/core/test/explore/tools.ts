/** The tools of a world. Each is a letter; what they do waits at gates, and the journal has it. */

import { z } from 'zod'
import type { NeedsContext, Tool, ToolContext, ToolSchema } from '../../src/index.ts'
import { textOf } from '../../src/vocabulary/message.ts'
import type { Entry } from './journal.ts'
import { passesThrough } from './middleware.ts'
import { callOf, modelOfAgent } from './model.ts'
import type { Place } from './place.ts'
import { atEndOf, ceilingOf, doesOf, effectOf, inputOf, isAgent, keysOf, letterOf, madeBy } from './scenario.ts'
import { isStored } from './store.ts'

const INPUT = z.object({ n: z.string() })
/** The input of N, which starts with the first part of it. */
const IN_PARTS = z.object({ n: z.string().regex(/[^0]/), more: z.string() })
type Input = z.infer<typeof INPUT>

/** The tools of these words, and those that they call. */
export function toolsOf(place: Place, words: readonly string[]): Tool[] {
  const made = words.flatMap((word) => (isAgent(word) ? [] : (madeBy(word) ?? [])))
  return [...new Set([...words, ...made].map(letterOf))].map((letter) => toolOf(place, letter))
}

function toolOf(place: Place, letter: string): Tool {
  const { on, scenario } = place
  const atEnd = atEndOf(letter)
  const own = {
    name: letter,
    description: doesOf(letter),
    effect: letter === 'R' ? ({ n }: Input) => effectOf(letter + n) : ceilingOf(letter),
    input: scenario.check ? slowly(place, letter) : letter === 'N' ? IN_PARTS : INPUT,
    ...(atEnd && { background: { atEnd } }),
  }
  if (isAgent(letter)) {
    const agent = on.core.createAgent({
      name: letter,
      description: own.description,
      model: modelOfAgent(place, letter),
      tools: toolsOf(place, [madeBy(letter) ?? '']),
      middleware: scenario.through ? [passesThrough] : [],
    })
    return { ...on.core.agentTool(agent), ...own } as Tool
  }
  const keys = (isRead: boolean) => (input: Input) => {
    const word = letter + input.n
    return (effectOf(word) === 'read') === isRead ? keysOf(word) : []
  }
  return {
    ...own,
    ...(keysOf(letter).length > 0 && { reads: keys(true), writes: keys(false) }),
    ...(letter === 'v' && { compensate: ({ n }: Input, output: unknown) => undo(place, letter + n, String(output)) }),
    ...(letter === 'z' && { concurrency: 1 }),
    ...(letter === 'T' && { timeout: 10 }),
    ...(letter === 'N' && { needs: ['n'] }),
    ...(letter === 'W' && { warm: ({ callId }: { readonly callId: string }) => warm(place, callId) }),
    execute: ({ n }: Input, context: ToolContext) => execute(place, letter + n, context),
  } as Tool
}

/** The check of an input takes time. */
function slowly({ gates }: Place, letter: string): ToolSchema<Input> {
  const validate = async (input: unknown) => {
    const value = INPUT.parse(input)
    await gates.pass(`${letter}${value.n} is checked`)
    return { value }
  }
  return { '~standard': { ...INPUT['~standard'], validate } }
}

async function undo({ gates, journal, process, reached }: Place, word: string, output: string): Promise<void> {
  const undone: (typeof journal.undone)[number] = { word, output, process }
  journal.undone.push(undone)
  reached(`the undo of ${word} starts`)
  await gates.pass(`${word} is undone`)
  undone.endedAfter = journal.saves
}

async function warm({ gates, journal, reached }: Place, callId: string): Promise<string> {
  journal.warmed.push(callId)
  reached('a warm-up starts')
  return await gates.pass('a warm-up ends')
}

async function execute(place: Place, word: string, context: ToolContext): Promise<string> {
  const { reached, path, on } = place
  const entry = entered(place, word, context)
  const hears = () => {
    Object.assign(entry, { abortedIn: path.length, abortedAmid: place.amid })
    reached(`${word} hears its abort`)
  }
  context.signal.addEventListener('abort', hears, { once: true })
  reached(`${word} starts`)
  try {
    entry.output = await does(place, entry, context)
    entry.came ??= 'returned'
    return entry.output
  } catch (error) {
    entry.came ??= error instanceof on.core.RunStop ? 'asked' : 'threw'
    if (entry.came === 'asked' && /^q[jy]/.test(word) && !context.signal.aborted)
      place.stoppedIn ??= { move: path.length, by: 'a question of its work' }
    throw error
  }
}

function entered({ journal, process, amid, announced, scenario }: Place, word: string, context: ToolContext): Entry {
  const { callId, idempotencyKey: key, attempt, signal, answers, run } = context
  const words = [...announced.values()]
  const said = [...announced.keys()].indexOf(callId)
  const index = said < 0 ? words.indexOf(word) : said
  const called = { word, callId, key, attempt, process, amid, run: run?.id ?? '', answers: answers.map(String) }
  const entry: Entry = {
    ...called,
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
  const { core } = place.on
  const letter = letterOf(word)
  if (letter === 'w') {
    try {
      await context.run?.stood(context.callId)
    } catch (error) {
      // The function throws why its response is not accepted, or returns all the same.
      const how = await place.gates.pass(`${word} is refused, and`, () => ['throws', 'returns'])
      if (how === 'throws') throw error
      return `${word} refused`
    }
  }
  await passed(place, entry, context.signal)
  const inner = madeBy(word)
  if (inner) {
    const message = await context.run?.callTool(callOf(inner, `inner ${letter}${word.slice(2)}`))
    return `${word} of ${message ? textOf(message) : 'nothing'}`
  }
  const asks = letter === 'q' || (letter === 'h' && !word.endsWith('b'))
  if (asks && entry.answers.length === 0) throw core.interrupt(word, { answer: z.literal('yes') })
  if (letter === 'f' && context.attempt === 1) throw new Error('at first')
  if ((letter === 'e' && context.attempt === 1) || word === 'z0') {
    entry.came = 'ended its run'
    if (!place.scenario.wrap) place.amid = { ...place.amid, failed: true }
    throw new core.AgentError(word)
  }
  if (letter === 'N')
    return `${word} done with ${(await (context as NeedsContext<z.infer<typeof IN_PARTS>>).rest).more}`
  if (letter === 'W') await context.warmed
  const writes = place.journal.entries.filter((one) => one.word === `b${inputOf(word)}` && one.came === 'returned')
  if (letter === 'g') return `${word} after ${writes.length}`
  return [word, 'done', ...entry.answers].join(' ')
}

/** A function that hears its abort stops, or ends all the same; d hears nothing. */
async function passed({ gates }: Place, entry: Entry, signal: AbortSignal): Promise<void> {
  const isDeaf = letterOf(entry.word) === 'd'
  const how = await gates.pass(entry.word, () => (signal.aborted && !isDeaf ? ['ends', 'stops'] : ['ends']))
  if (how === 'ends') return
  entry.came = 'threw'
  throw signal.reason
}
