import ropewalk

def rotate(x, cos, sin)
    return x
