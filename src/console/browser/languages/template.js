const VALUE = '\0';
const SPOKEN = /(\s(?:title|label|about|aria-label|placeholder|verb)=")([^"\0]+)(?=")/g;

/**
 * The fixed parts of a template with its texts translated: those between tags, in which `{0}` stands for a value, and those of
 * attributes that people read. The values keep their order.
 */
export function translated(parts, translate) {
  const text = parts
    .join(VALUE)
    .replace(/(^|>)([^<>]+)(?=<|$)/g, (_, before, run) => before + ofRun(run, translate))
    .replace(SPOKEN, (_, before, sentence) => before + translate(sentence));
  return text.split(VALUE);
}

function ofRun(run, translate) {
  const sentence = run.trim();
  if (!/\p{L}/u.test(sentence)) return run;
  let values = 0;
  const known = translate(sentence.replaceAll(VALUE, () => `{${values++}}`).replaceAll(/\s+/g, ' '));
  return run.replace(sentence, () => known.replaceAll(/\{\d+\}/g, VALUE));
}
