/** The clock of the server, because the times of spans are compared with it. */

import { useEffect, useState } from 'preact/hooks'

let skew = 0

export const now = (): number => Date.now() + skew

export function setClock(serverNow: number): void {
  skew = serverNow - Date.now()
}

/** The time now, again for each frame while something runs. */
export function useNow(running: boolean): number {
  const [time, setTime] = useState(now)
  useEffect(() => {
    if (!running) return
    let frame = 0
    const next = (): void => {
      setTime(now())
      frame = requestAnimationFrame(next)
    }
    next()
    return () => cancelAnimationFrame(frame)
  }, [running])
  return time
}
