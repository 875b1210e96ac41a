package io.kvasir.app.config;

import java.io.Serial;
import java.util.List;
import java.util.stream.Collectors;

/** The configuration cannot be used; carries every fault found in it. */
public final class ConfigException extends Exception {
  @Serial private static final long serialVersionUID = 1L;

  private final transient List<ConfigFault> faults;

  /** A configuration with these faults. */
  public ConfigException(List<ConfigFault> faults) {
    super(faults.stream().map(ConfigFault::toString).collect(Collectors.joining("\n")));
    this.faults = List.copyOf(faults);
  }

  public List<ConfigFault> faults() {
    return faults;
  }
}
