/**
 * After each file: none of its intervals goes on. Files run one after another in the same process, where an interval of one would act in the
 * tests of the next ones, and set timers on their fake clocks.
 */

import { beforeAll } from 'vitest'

beforeAll(() => {
  const { setInterval, clearInterval } = globalThis
  const left = new Map<Parameters<typeof clearInterval>[0], Error>()
  const noted = (...given: Parameters<typeof setInterval>) => {
    const timer = setInterval(...given)
    left.set(timer, new Error('set here'))
    return timer
  }
  const cleared: typeof clearInterval = (timer) => {
    left.delete(timer)
    clearInterval(timer)
  }
  Object.assign(globalThis, { setInterval: noted, clearInterval: cleared })
  return () => {
    Object.assign(globalThis, { setInterval, clearInterval })
    // Only this file fails, and not another one because of it.
    for (const timer of left.keys()) clearInterval(timer)
    const places = [...left.values()].map(({ stack }) => stack)
    if (places.length > 0) throw new Error(['intervals of this file go on', ...places].join('\n  '))
  }
})
