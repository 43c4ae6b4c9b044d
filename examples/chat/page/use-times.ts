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
    const read = async (ids: readonly string[]) => {
      const found = await readTimes(ids)
      setKnown((now) => new Map([...now, ...Object.entries(found)]))
    }
    // A server that is away is asked again.
    const ask = (ids: readonly string[]) => void read(ids).catch(() => undefined)
    ask(all.split(','))
    const again = isOpen ? setInterval(ask, 200, [last]) : undefined
    return () => clearInterval(again)
  }, [all, last, isOpen])
  return known
}
