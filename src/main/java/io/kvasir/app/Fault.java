package io.kvasir.app;

/**
 * One thing wrong with the configuration.
 *
 * @param place file and line, as far as known
 * @param path the setting's full name
 * @param problem what is wrong and what to do
 */
record Fault(String place, String path, String problem) {
  @Override
  public String toString() {
    return (place.isEmpty() ? "" : place + ": ") + path + ": " + problem;
  }
}
