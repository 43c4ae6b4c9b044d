/** A tool that only reads. */

import { tool } from '@meanwhile/core'
import { z } from 'zod'

export const look = tool({
  name: 'look',
  description: 'Looks.',
  input: z.object({}),
  effect: 'read',
  execute: () => 'sunny',
})
