/** The list of runs. */

import { useEffect, useRef, useState } from 'preact/hooks'
import { counted, duration } from '../src/geometry/words.ts'
import type { Spark, Summary } from '../src/server/summary.ts'
import { useNow } from './clock.ts'
import { Logo } from './logo.tsx'
import { visible } from './visible.ts'

export interface ListProps {
  readonly runs: readonly Summary[]
  readonly live: boolean
  readonly shown: string | undefined
  /** Whether nothing else is on the page. */
  readonly isPage: boolean
  readonly onShow: (key: string) => void
}

export function List({ runs, live, shown, isPage, onShow }: ListProps) {
  const [filter, setFilter] = useState('')
  const field = useRef<HTMLInputElement>(null)
  const list = useRef<HTMLUListElement>(null)
  useEffect(() => {
    const focus = (event: KeyboardEvent): void => {
      if (event.key !== '/' || event.target instanceof HTMLInputElement) return
      event.preventDefault()
      field.current?.focus()
    }
    addEventListener('keydown', focus)
    return () => removeEventListener('keydown', focus)
  }, [])
  const move = (event: KeyboardEvent): void => {
    const by = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (by === 0) return
    event.preventDefault()
    const items = [...(list.current?.querySelectorAll('button') ?? [])]
    const focused = items.findIndex((item) => item.matches(':focus'))
    items[Math.max(0, Math.min(items.length - 1, focused + by))]?.focus()
  }
  const found = runs.filter((run) => matches(run, filter))
  const Title = isPage ? 'h1' : 'span'
  return (
    <nav class="runs" aria-label="Runs" onKeyDown={move}>
      <header>
        <Title class="mark">
          <Logo /> Meanwhile
        </Title>
        <span class={live ? 'live on' : 'live'} role="status">
          {live ? 'live' : 'offline'}
        </span>
      </header>
      <input
        ref={field}
        class="filter"
        type="search"
        placeholder="Filter by text, agent, state"
        aria-label="Filter by text, agent:name or state:name"
        value={filter}
        onInput={({ currentTarget }) => setFilter(currentTarget.value)}
      />
      <ul ref={list}>
        {groups(found).flatMap(({ conversation, members }) => [
          members.length > 1 && conversation !== undefined && (
            <li key={conversation} class="conversation">
              <span>{visible(conversation)}</span>
              <span>{counted(members.length, 'run')}</span>
            </li>
          ),
          ...members.map((run) => (
            <li key={run.key}>
              <Item run={run} isShown={run.key === shown} onShow={() => onShow(run.key)} />
            </li>
          )),
        ])}
      </ul>
    </nav>
  )
}

function Item({
  run,
  isShown,
  onShow,
}: {
  readonly run: Summary
  readonly isShown: boolean
  readonly onShow: () => void
}) {
  const { title, agent, model, service, state, calls } = run
  // Only this item is drawn again for each frame: the list may have hundreds.
  const time = useNow(state === 'running')
  const length = duration((run.end ?? time) - run.start)
  return (
    <button type="button" class={isShown ? 'item shown' : 'item'} aria-current={isShown} onClick={onShow}>
      <span class="title">{visible(title ?? agent ?? model ?? 'run')}</span>
      <SparkLine bars={run.spark} />
      <span class="about">
        <span class={`state ${state}`}>{state === 'completed' ? length : `${state} · ${length}`}</span>
        <span class="what">
          {visible(agent ?? service)}
          {run.continues !== undefined && ' · resumed'}
          {calls > 0 && ` · ${counted(calls, 'call')}`}
        </span>
        <Result run={run} />
      </span>
    </button>
  )
}

const LEAST_MS = 5

function Result({ run: { saved = 0, upTo = 0, errors } }: { readonly run: Summary }) {
  if (saved > LEAST_MS) return <b class="good">−{duration(saved)}</b>
  if (upTo > LEAST_MS) return <span>up to −{duration(upTo)}</span>
  return errors > 0 ? <span class="bad">{counted(errors, 'error')}</span> : null
}

function SparkLine({ bars }: { readonly bars: readonly Spark[] }) {
  return (
    <svg class="spark" viewBox="0 0 1000 14" preserveAspectRatio="none" aria-hidden="true">
      {bars.map(([kind, from, to], index) => (
        <rect
          key={index}
          class={kind}
          x={from}
          width={Math.max(5, to - from)}
          y={kind === 'response' ? 0 : 6 + (index % 3) * 2.6}
          height={kind === 'response' ? 14 : 2.4}
        />
      ))}
    </svg>
  )
}

interface Group {
  readonly conversation: string | undefined
  readonly members: Summary[]
}

/** Runs of one conversation stand together, where its latest run is. */
function groups(runs: readonly Summary[]): Group[] {
  const all: Group[] = []
  const known = new Map<string, Group>()
  for (const run of runs) {
    const { conversation } = run
    const group = conversation === undefined ? undefined : known.get(conversation)
    if (group) {
      group.members.push(run)
      continue
    }
    const one = { conversation, members: [run] }
    all.push(one)
    if (conversation !== undefined) known.set(conversation, one)
  }
  return all
}

/** Each word must match: `agent:x` and `state:x` what they name, others anything. */
function matches({ title, agent, model, service, state }: Summary, filter: string): boolean {
  const anything = [title, agent, model, service, state].join(' ').toLowerCase()
  return filter
    .toLowerCase()
    .split(/\s+/)
    .every((word) => {
      const [, member, value = ''] = /^(agent|state):(.*)$/.exec(word) ?? []
      if (member === 'agent') return (agent ?? '').toLowerCase().includes(value)
      return member === 'state' ? state.startsWith(value) : anything.includes(word)
    })
}
