/** Text for tool arguments that breaks a careless JSON parser: quotes, braces, backslashes, line breaks. */

const UNIT = 'say "go" to {all};\n\tand C:\\tmp too. '

/** This many bytes of it. It is ASCII: a character is a byte. */
export function filler(bytes: number): string {
  return UNIT.repeat(Math.ceil(bytes / UNIT.length)).slice(0, bytes)
}

/** Arguments whose JSON text has exactly this many bytes: whole units of filler, and plain letters for the rest. */
export function argumentsOf(key: string, bytes: number): { readonly key: string; readonly content: string } {
  const room = bytes - JSON.stringify({ key, content: '' }).length
  const unit = JSON.stringify(UNIT).length - 2
  return { key, content: UNIT.repeat(Math.floor(room / unit)) + 'x'.repeat(room % unit) }
}
