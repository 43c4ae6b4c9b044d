/** The characters that a reader does not see, and that a text does not need. */

/** The flags of England, Scotland and Wales: the only sequences of tags that Unicode recommends (UTS #51, emoji tag sequences). */
const FLAG =
  /\u{1F3F4}\u{E0067}\u{E0062}(?:\u{E0065}\u{E006E}\u{E0067}|\u{E0073}\u{E0063}\u{E0074}|\u{E0077}\u{E006C}\u{E0073})\u{E007F}/u
/** A joiner between two pictures, which may have a colour of skin or a selector. */
const IN_EMOJI = /(?<=\p{Extended_Pictographic}|\p{Emoji_Modifier}|\uFE0F)\u200D(?=\p{Extended_Pictographic})/u
/** A joiner after a visible letter or sign of a script whose writing needs it (UAX #31, section 2.3). */
const IN_SCRIPT =
  /(?<!\p{Default_Ignorable_Code_Point})(?<=[\p{scx=Arab}\p{scx=Syrc}\p{scx=Mong}\p{scx=Nkoo}\p{scx=Deva}\p{scx=Beng}\p{scx=Guru}\p{scx=Gujr}\p{scx=Orya}\p{scx=Taml}\p{scx=Telu}\p{scx=Knda}\p{scx=Mlym}\p{scx=Sinh}\p{scx=Khmr}\p{scx=Mymr}\p{scx=Tibt}])[\u200C\u200D]/u
/** A variation selector after a visible character that has variants (UTS #37 for ideographs). */
const VARIANT =
  /(?<!\p{Default_Ignorable_Code_Point})(?:(?<=\p{Emoji})[\uFE0E\uFE0F]|(?<=[\p{Sm}\p{So}\p{Lo}])[\uFE00-\uFE0F]|(?<=\p{Unified_Ideograph})[\u{E0100}-\u{E01EF}]|(?<=\p{sc=Mong})[\u180B-\u180D\u180F])/u
/** A filler in an old Korean syllable. */
const IN_KOREAN = /\u115F(?=[\u1161-\u11A7])|(?<=[\u1100-\u115E])\u1160/u

const KEPT = [FLAG, IN_EMOJI, IN_SCRIPT, VARIANT, IN_KOREAN].map(({ source }) => source).join('|')

/**
 * A global expression for each such character. Its first group is a sequence that stays, because the text needs it, such as a joiner in an emoji. `others`:
 * more characters, for a class of an expression.
 */
export function hiddenCharacters(others = ''): RegExp {
  return new RegExp(`(${KEPT})|[\\p{Default_Ignorable_Code_Point}\\uFFF9-\\uFFFB${others}]`, 'gu')
}
