package io.kvasir.app.top;

/** What the list of workers can be sorted by. */
enum ListOrder {
  /** The hottest first. */
  FIGURE,
  NAME,
  /** Those that are down first. */
  STATE
}
