import { useEffect, useState } from 'react'
import type { Times } from '../times.ts'
import type { Conversation } from './conversation.ts'
import { readTimes } from './server.ts'

/** The times of all turns: those of the last one are read 5 times a second while it runs, and once when it has ended. */
export function useTimes({ messages, isBusy }: Conversation): ReadonlyMap<string, Times> {
  const [known, setKnown] = useState<ReadonlyMap<string, Times>>(new Map())
  const turns = messages.filter(({ role }) => role === 'assistant').map(({ id }) => id)
  const last = turns.at(-1) ?? ''
  const isOpen = isBusy || known.get(last)?.state === 'open'
  const all = turns.join()
  useEffect(() => {
    if (all === '') return
    const left = new AbortController()
    let soon: ReturnType<typeof setTimeout>
    const read = async (ids: readonly string[]): Promise<void> => {
      // A server that is away is asked again.
      const found = await readTimes(ids, left.signal).catch(() => ({}))
      if (left.signal.aborted) return
      setKnown((now) => new Map([...now, ...Object.entries(found)]))
      if (isOpen) soon = setTimeout(() => void read([last]), 200)
    }
    void read(all.split(','))
    return () => {
      left.abort()
      clearTimeout(soon)
    }
  }, [all, last, isOpen])
  return known
}
