package io.kvasir.app.config;

import io.kvasir.app.config.KvasirConfig.LogConfig;
import java.util.Locale;

/** How the process logs: told to {@code logback.xml} before the first logger exists. */
public final class Logs {
  private Logs() {}

  /** Sets what {@code logback.xml} reads. Takes effect once, before the first logger. */
  public static void configure(LogConfig log) {
    System.setProperty("kvasir.log.format", log.format().name().toLowerCase(Locale.ROOT));
    System.setProperty("kvasir.log.level", log.level().name());
  }
}
