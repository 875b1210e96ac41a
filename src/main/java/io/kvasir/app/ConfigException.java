package io.kvasir.app;

import java.io.Serial;
import java.util.List;
import java.util.stream.Collectors;

/** The configuration cannot be used; carries every fault found in it. */
final class ConfigException extends Exception {
  @Serial private static final long serialVersionUID = 1L;

  private final transient List<Fault> faults;

  ConfigException(List<Fault> faults) {
    super(faults.stream().map(Fault::toString).collect(Collectors.joining("\n")));
    this.faults = List.copyOf(faults);
  }

  List<Fault> faults() {
    return faults;
  }
}
