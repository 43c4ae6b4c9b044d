import { expect, test } from 'vitest'
import { visible } from './visible.ts'

test('controls and marks of direction are shown by their code points, the ends of lines are not (DT10)', () => {
  expect(visible('a\u202eb\u0007\rc')).toBe('a⟨U+202E⟩b⟨U+0007⟩⟨U+000D⟩c')
  expect(visible('one\r\ntwo\n\tthree')).toBe('one\r\ntwo\n\tthree')
})
