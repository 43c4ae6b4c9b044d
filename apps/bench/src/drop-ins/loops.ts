/** The loops of other libraries that a drop-in makes eager. */

import { WIRE_NAMES, type WireName } from '@meanwhile/harness/server'

export type LoopName = (typeof LOOP_NAMES)[number]

export const LOOP_NAMES = [
  'streamText',
  'streamText, resilient()',
  'ToolLoopAgent',
  'generateText',
  'agent.stream',
  'agent.invoke',
  'agent.stream, model by name',
  'run, streamed',
  'run',
] as const

/** A loop without or with its drop-in. */
export type LoopWay = LoopName | EagerLoop

type EagerLoop = `${LoopName}, eager`

export interface Loop {
  readonly name: LoopName
  readonly library: Library
  readonly wires: readonly WireName[]
  /** What its drop-in is. Default: `eager`. */
  readonly adds?: 'resilient'
  /** The loop that it is compared with. Default: itself, without its drop-in. */
  readonly of?: LoopName
  /** Whether it streams by itself. A loop that does not can only run with `alwaysStream`, because the server only streams. */
  readonly streams: boolean
  /** Whether a process can make only one run of it at a time. */
  readonly alone?: true
}

/** The libraries that have a drop-in. */
export const LIBRARIES = ['ai', 'langchain', '@openai/agents'] as const
export type Library = (typeof LIBRARIES)[number]

export const LIBRARY_TITLES: Readonly<Record<Library, string>> = {
  ai: 'AI SDK',
  langchain: 'LangChain',
  '@openai/agents': 'OpenAI Agents',
}

const OPENAI: readonly WireName[] = ['openai-chat', 'openai-responses']

const LOOPS: Readonly<Record<LoopName, Omit<Loop, 'name'>>> = {
  streamText: { library: 'ai', wires: WIRE_NAMES, streams: true },
  'streamText, resilient()': { library: 'ai', wires: WIRE_NAMES, streams: true, adds: 'resilient', of: 'streamText' },
  ToolLoopAgent: { library: 'ai', wires: WIRE_NAMES, streams: true },
  generateText: { library: 'ai', wires: WIRE_NAMES, streams: false },
  'agent.stream': { library: 'langchain', wires: WIRE_NAMES, streams: true },
  'agent.invoke': { library: 'langchain', wires: WIRE_NAMES, streams: false },
  // The model finds its endpoint in the environment of the process.
  'agent.stream, model by name': { library: 'langchain', wires: ['openai-responses'], streams: true, alone: true },
  'run, streamed': { library: '@openai/agents', wires: OPENAI, streams: true },
  run: { library: '@openai/agents', wires: OPENAI, streams: false },
}

export function loopOf(name: LoopName): Loop {
  return { name, ...LOOPS[name] }
}

/** `AI SDK streamText` */
export function titleOf(name: LoopName): string {
  return `${LIBRARY_TITLES[LOOPS[name].library]} ${name}`
}

/** All of them, in display order. */
export const ALL_LOOPS: readonly Loop[] = LOOP_NAMES.map(loopOf)

export function eagerWay(name: LoopName): EagerLoop {
  return `${name}, eager`
}

/** The ways to run a loop that can be measured. */
export function waysOf({ name, of, streams }: Loop): readonly LoopWay[] {
  return streams && of === undefined ? [name, eagerWay(name)] : [eagerWay(name)]
}

export const LOOP_WAYS: readonly LoopWay[] = ALL_LOOPS.flatMap(waysOf)

/** The loop that a way runs, and whether with its drop-in. Undefined if it is not a loop of another library. */
export function loopRun(way: string): { readonly loop: Loop; readonly isEager: boolean } | undefined {
  const name = LOOP_NAMES.find((name) => way === name || way === eagerWay(name))
  return name && { loop: loopOf(name), isEager: way !== name }
}
