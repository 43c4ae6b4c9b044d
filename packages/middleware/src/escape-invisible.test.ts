import { anyText } from '@meanwhile/tests/text'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { escapeInvisible } from './escape-invisible.ts'

test.for([
  ['\u001b[2J\u001b[1;1HAllow it?', '\\u001b[2J\\u001b[1;1HAllow it?'],
  ['a\rb\u0008\u0000\u007f', 'a\\u000db\\u0008\\u0000\\u007f'],
  ['\u009b31m', '\\u009b31m'],
  ['pay \u202e001\u202c', 'pay \\u202e001\\u202c'],
  ['\u2066x\u2069\u061c\u200f', '\\u2066x\\u2069\\u061c\\u200f'],
  ['ev\u200bil\u200d\ufeff\u00ad\u2060', 'ev\\u200bil\\u200d\\ufeff\\u00ad\\u2060'],
  ['a\u{e0041}\u{e0100}', 'a\\u{e0041}\\u{e0100}'],
  ['\u3164\u115f\u034f\u2028\ufff9', '\\u3164\\u115f\\u034f\\u2028\\ufff9'],
  ['a\ud800b', 'a\\ud800b'],
] as const)('control, bidi and invisible characters are escapes: %j (W42)', ([text, shown]) => {
  expect(escapeInvisible(text)).toBe(shown)
})

test.for(['line\n\tindented', 'Grüße, 你好, שלום, नमस्ते', '❤️ 👨‍👩‍👧 🏴󠁧󠁢󠁥󠁮󠁧󠁿 1️⃣ 🇩🇪 👍🏽', 'C:\\u202e "q" é'])(
  'text that hides nothing stays as it is: %s (W42)',
  (text) => {
    expect(escapeInvisible(text)).toBe(text)
  },
)

test('the result of any text has no control character but tab and line feed, and is its own result (W42)', () => {
  fc.assert(
    fc.property(anyText({ maxLength: 50 }), (text) => {
      const shown = escapeInvisible(text)
      expect(shown).not.toMatch(/[^\P{Cc}\t\n]|\p{Bidi_Control}|\p{Cs}/u)
      expect(escapeInvisible(shown)).toBe(shown)
    }),
  )
})
