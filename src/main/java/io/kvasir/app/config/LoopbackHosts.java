package io.kvasir.app.config;

import java.util.regex.Pattern;

/** The hosts that no other machine reaches, as configurations write them. */
final class LoopbackHosts {
  private static final Pattern NAMES =
      Pattern.compile("localhost|127(\\.\\d{1,3}){3}|\\[?(::|(0+:){7}0*)1]?", Pattern.CASE_INSENSITIVE);

  private LoopbackHosts() {}

  static boolean contain(String host) {
    return NAMES.matcher(host).matches();
  }
}
