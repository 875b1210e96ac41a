package io.kvasir.execution.stream;

import io.kvasir.http.ByteSink;
import java.io.IOException;

/** The way of a stream's bytes to the client, on which they may be changed. One thread at a time. */
public interface BodyFilter extends ByteSink {
  /** The stream is over: what is held back goes or stays. */
  void end() throws IOException;
}
