/** Texts of traces come from outside. Characters that change how others are shown are shown as their names: `⟨U+202E⟩`. */

const HIDDEN = /(?![\t\n]|\r\n)[\p{Cc}\p{Bidi_Control}\ufeff]/gu

export function visible(text: string): string {
  return text.replace(HIDDEN, (one) => `⟨U+${one.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`)
}

/** As long as fits, with `…` if something is missing; empty if almost nothing fits. */
export function clipped(text: string, characters: number): string {
  if (text.length <= characters) return text
  return characters < 4 ? '' : `${text.slice(0, Math.floor(characters) - 1)}…`
}
