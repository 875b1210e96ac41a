package io.kvasir.app;

/**
 * One thing wrong with the configuration.
 *
 * @param place file and line, as far as known
 * @param path the setting's full name
 * @param problem what is wrong and what to do
 */
record Fault(String place, String path, String problem) {
  /** A fault of a profile. */
  static Fault of(io.kvasir.routing.Fault fault) {
    String plugin = fault.plugin() == null ? "" : "plugin '" + fault.plugin() + "': ";
    return new Fault(
        fault.where(), "kvasir.routing.profiles." + fault.profile(), plugin + fault.problem() + "; " + fault.remedy());
  }

  @Override
  public String toString() {
    return (place.isEmpty() ? "" : place + ": ") + path + ": " + problem;
  }
}
