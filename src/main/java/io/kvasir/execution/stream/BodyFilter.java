package io.kvasir.execution.stream;

import io.kvasir.http.ByteSink;
import java.io.IOException;

/** A sink in front of the client's that may change a stream's bytes. One thread at a time. */
public interface BodyFilter extends ByteSink {
  /** Ends the stream: what is held back is written or dropped. */
  void end() throws IOException;
}
