/** Words that occur in any sentence. */
const stopWords = new Set(
  'a an and any are at be by do does for from have how i in is it its me my of on or our so that the their this to up us was we what which will with you your'.split(
    ' ',
  ),
)

/** The words of a text, without endings: a search for "deploys" finds "deployment" only by "deploy". */
function wordsOf(text: string): string[] {
  const words = text.toLowerCase().split(/[^a-z0-9]+/)
  return words
    .filter((word) => word !== '' && !stopWords.has(word))
    .map((word) => word.replace(/(?<=...)(ies|ations?|ions?|ings?|ed|es|s|e|y)$/, ''))
}

/** Okapi BM25 with its usual constants. */
const saturation = 1.2
const lengthWeight = 0.75

interface Described {
  name: string
  description: string
}

/** Ranks tools by the words that a request shares with their names and descriptions. */
export function toolRanking(tools: readonly Described[]): (request: string) => string[] {
  const documents = tools.map(({ name, description }) => ({ name, words: wordsOf(`${name} ${description}`) }))
  const meanLength = documents.reduce((sum, { words }) => sum + words.length, 0) / documents.length
  const holding = new Map<string, number>()
  for (const { words } of documents)
    for (const word of new Set(words)) holding.set(word, (holding.get(word) ?? 0) + 1)
  const score = (words: string[], wanted: Set<string>) => {
    const length = saturation * (1 - lengthWeight + (lengthWeight * words.length) / meanLength)
    return [...wanted].reduce((sum, word) => {
      const count = words.filter((one) => one === word).length
      const having = holding.get(word) ?? 0
      const rarity = Math.log(1 + (documents.length - having + 0.5) / (having + 0.5))
      return sum + (rarity * count * (saturation + 1)) / (count + length)
    }, 0)
  }
  return (request) => {
    const wanted = new Set(wordsOf(request))
    return documents
      .map(({ name, words }) => ({ name, score: score(words, wanted) }))
      .filter((one) => one.score > 0)
      .sort((one, other) => other.score - one.score)
      .map(({ name }) => name)
  }
}
