import { useEffect, useState } from 'react'
import type { Times } from '../times.ts'
import { get } from './server.ts'

/** The times of a turn: read 5 times a second while it runs, and once when it has ended. Undefined: they are missing, or their end is. */
export function useTimes(turn: string, isRunning: boolean): Times | undefined {
  const [times, setTimes] = useState<Times>()
  const isOpen = isRunning || times?.state === 'open'
  useEffect(() => {
    let isLeft = false
    let next: ReturnType<typeof setTimeout>
    const read = async (): Promise<void> => {
      // A server that is away is asked again, but never twice at once.
      const found = await get<Times | null>(`/api/times/${turn}`).catch(() => undefined)
      if (isLeft) return
      if (found !== undefined) setTimes(found ?? undefined)
      if (isOpen || found === undefined) next = setTimeout(() => void read(), 200)
    }
    void read()
    return () => {
      isLeft = true
      clearTimeout(next)
    }
  }, [turn, isOpen])
  return isRunning || times?.state !== 'open' ? times : undefined
}
