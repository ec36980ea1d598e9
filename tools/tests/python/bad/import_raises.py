import ropewalk

raise RuntimeError("two lines\nof a reason")
