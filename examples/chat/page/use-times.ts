import { useEffect, useState } from 'react'
import type { Times } from '../times.ts'
import { get } from './server.ts'

/** The times of a turn: read 5 times a second while it runs, and once when it has ended. Undefined: they are missing, or their end is. */
export function useTimes(turn: string, isRunning: boolean): Times | undefined {
  const [times, setTimes] = useState<Times>()
  const isOpen = isRunning || times?.state === 'open'
  useEffect(() => {
    // A server that is away is asked again.
    const read = () =>
      get<Times | null>(`/api/times/${turn}`).then(
        (found) => setTimes(found ?? undefined),
        () => {},
      )
    void read()
    if (!isOpen) return undefined
    const often = setInterval(() => void read(), 200)
    return () => clearInterval(often)
  }, [turn, isOpen])
  return isRunning || times?.state !== 'open' ? times : undefined
}
