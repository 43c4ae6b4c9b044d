/** The tools that the script of `demo-model.ts` calls and that only read, as slow as real ones. */

import { setTimeout as wait } from 'node:timers/promises'
import { tool } from '@meanwhile/core'
import { z } from 'zod'

const weather = tool({
  name: 'weather',
  description: 'The weather in a city.',
  input: z.object({ city: z.string() }),
  effect: 'read', // it may start while the model is still streaming
  async *execute({ city }, { signal }) {
    if (city === 'Atlantis') throw new Error('connect ECONNREFUSED weather-db.internal:5432')
    for (const station of [1, 2, 3, 4]) {
      await wait(400, undefined, { signal })
      yield { progress: station / 4, message: `Station ${station} of 4` }
    }
    return `${city}: sunny, 24 °C.`
  },
})

const flights = tool({
  name: 'flights',
  description: 'Finds flights.',
  input: z.object({ from: z.string(), to: z.string() }),
  effect: 'read',
  async execute({ to }, { signal }) {
    await wait(2_200, undefined, { signal })
    return `Fri 17:40 to ${to}, TP 931, 164 €`
  },
})

const hotels = tool({
  name: 'hotels',
  description: 'Finds hotels.',
  input: z.object({ city: z.string(), nights: z.number() }),
  effect: 'read',
  async execute({ nights }, { signal }) {
    await wait(700, undefined, { signal })
    return `Casa do Rio, ${nights} nights, ${nights * 106} €`
  },
})

export const travelTools = [flights, weather, hotels] as const
