package io.kvasir.events;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The place of one worker's events in NATS.
 *
 * @param servers addresses such as {@code nats://user:password@host:4222}, separated by commas
 * @param stream the JetStream's name, empty to find it by the subject
 * @param subject the worker's
 * @param history how far back the stream is read
 * @param credentials a credentials file, null for none
 * @param worker the worker's id, for names that operators see
 */
record NatsEndpoint(
    String servers, String stream, String subject, Duration history, @Nullable String credentials, String worker) {
  /** The subject and the servers, without passwords. */
  String description() {
    return subject + " at " + withoutPasswords(servers);
  }

  /** A text without the users and passwords of the addresses in it. */
  static String withoutPasswords(String text) {
    return text.replaceAll("//[^/@,]*@", "//");
  }
}
